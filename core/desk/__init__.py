"""The desk: the loop that takes events in, publishes and stores the fleet, and steers probes."""
