FROM bb:1
RUN sleep 60
