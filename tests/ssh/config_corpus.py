"""A corpus of ssh_config files: common ones, and ones that are easily misread.

`@/` in a text stands for the folder of the case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One config, and what ssh is asked for.

    Attributes:
        text: The config.
        name: The host, as given to ssh.
        files: More files in the folder of the case: name -> text.
    """

    text: str
    name: str = "a"
    user: str | None = None
    port: int | None = None
    jump: str | None = None
    files: Mapping[str, str] = field(default_factory=dict[str, str])


CASES: Mapping[str, Case] = {
    # comments
    "a comment after Host": Case("Host gpu2    # was gpu1\n HostName 1.2.3.4\n", "gpu1"),
    "a comment after Host, the host itself": Case("Host gpu2 # was gpu1\n Port 9\n", "gpu2"),
    "comments after values": Case("Host a #b\n Port 9 #x\n User u #\n HostName h#x\n"),
    "a comment after Match": Case("Match host a # b\n Port 9\n"),
    "a hash inside a word": Case("Host a#b\n Port 9\nHost a\n User u#x\n"),
    "a comment belongs to ProxyCommand": Case("Host a\n ProxyCommand nc %h %p # x\n"),
    "a comment after ProxyJump": Case("Host a\n ProxyJump b # c\n"),
    "commented lines": Case("# Port 1\n  # Port 2\nHost a\n\t# Port 3\n\n Port 4\n"),
    # how a line is written
    "equal signs": Case("Host=a\n Port=22 # c\n HostName = h\n User =u\n IdentityFile= ~/k\n"),
    "an equal sign in a value": Case("Host a\n User x=y\n IdentityFile=~/a=b\n"),
    "CRLF": Case("Host a\r\n Port 33   \r\n User u\r\n HostName h\r\n"),
    "tabs and no end of line": Case('Host\ta\n\tPort\t3\t# x\n\tUser\t"u v"'),
    "form feed at the end": Case("Host a \f\n Port 3 \f\n"),
    "keywords in any case": Case("HOST a\n pOrT 9\n hostNAME h\n"),
    "double quotes": Case('Host "a"\n IdentityFile "~/my key"\n User "x"y\n'),
    "single quotes": Case("Host 'a'\n IdentityFile '~/a b'\n User 'u'v\n"),
    "escapes": Case('Host a\n User a\\ b\n IdentityFile "~/a\\"b"\n CertificateFile ~/a\\\\b\\c\n'),
    "a quoted keyword": Case('"Host" a\n "Port" 9\n'),
    "no block at all": Case("Port 9\nUser u\n"),
    # Host
    "stars": Case("Host *\n Port 1\nHost a*\n User u\n", "abc"),
    "question marks": Case("Host ?\n Port 1\nHost ??\n User u\n", "ab"),
    "brackets are not wildcards": Case("Host [ab]\n Port 1\nHost *\n Port 2\n"),
    "a dot is a dot": Case("Host a.c\n Port 1\n", "abc"),
    "negation": Case("Host * !a\n Port 9\nHost ? !b*\n User q\n"),
    "negation first": Case("Host !b *\n Port 9\n", "b"),
    "only negation": Case("Host !b\n Port 9\n"),
    "commas do not part Host": Case("Host a,b\n Port 9\n"),
    "Host heeds case": Case("Host gpu\n User me\nHost *\n Port 5\n", "GPU"),
    "several names": Case("Host x y a z\n Port 9\n"),
    # the first value counts
    "duplicate keys": Case("Host a\n Port 9\n Port 10\n User x\nHost *\n Port 11\n User y\n"),
    "defaults before hosts win": Case("User first\nHost a\n User second\n"),
    "several keys": Case(
        "Host a\n IdentityFile 1\n IdentityFile 2\n IdentityFile 1\nHost *\n IdentityFile 3\n"
    ),
    "no key, then a key": Case("Host a\n IdentityFile none\n IdentityFile ~/x\n"),
    "certificates": Case("Host a\n CertificateFile ~/c1\n CertificateFile ~/c2\n"),
    "the older name of IdentityFile": Case("Host a\n IdentityFile2 ~/y\n"),
    # Match
    "Match host after HostName": Case("Host a\n HostName b.c\nMatch host b.c\n User hit\n"),
    "Match originalhost": Case("Host a\n HostName b\nMatch originalhost a\n Port 5\n"),
    "Match originalhost misses": Case("Host a\n HostName b\nMatch originalhost b\n Port 5\n"),
    "Match user": Case("Match user me\n HostName m\n", user="me"),
    "Match user of the config": Case(
        "Match user root\n HostName m\nHost a\n User z\nMatch user z\n Port 8\n"
    ),
    "Match localuser": Case(
        "Match localuser root,nobody\n Port 8\nMatch localuser none\n User q\n"
    ),
    "Match all": Case("Match all\n User hit\nMatch !all\n Port 3\n"),
    "Match all after another word": Case(
        "Match canonical all\n Port 3\nMatch final all\n User hit\nMatch !canonical all\n Port 4\n"
    ),
    "Match exec": Case('Match exec "exit 0"\n Port 1\nMatch exec "exit 1"\n User no\n'),
    "Match exec with tokens": Case(
        "Host a\n HostName h.%h\n Port 7\n"
        'Match exec "test %h = h.a -a %n = a -a %p = 7 -a %L != x"\n User hit\n'
    ),
    "Match exec is skipped": Case('Match host b exec "touch @/ran"\n Port 1\n'),
    "Match !exec": Case('Match !exec "exit 1"\n Port 1\n'),
    "Match with several words": Case(
        "Match host a,b user root\n Port 1\nMatch host a user x\n User q\n"
    ),
    "Match negation": Case("Match !host b,c user root\n Port 9\nMatch !host a*\n User no\n"),
    "Match heeds no case": Case("Match host A*\n Port 9\n", "aBc"),
    "Match with equal signs": Case("Match host=a\n User hit\n"),
    "Match with quotes": Case('Match host "a" user "root"\n User hit\n'),
    "Match final": Case(
        "Host a\n HostName b.c\nMatch final host b.c\n User hit\nHost b.c\n Port 7\n"
    ),
    "Match final adds a key": Case("Host a\n IdentityFile 1\nMatch final\n IdentityFile 2\n"),
    "Match canonical without it": Case("Host a\n HostName b\nMatch canonical\n User hit\n"),
    "Match canonical": Case(
        "CanonicalizeHostname yes\nHost a\n HostName b.c\n"
        "Match canonical\n User hit\nHost b.c\n Port 7\n"
    ),
    "a canonical address": Case(
        "CanonicalizeHostname yes\nCanonicalDomains x\nMatch canonical\n Port 7\n", "127.1"
    ),
    "canonical domains that do not": Case(
        "CanonicalizeHostname yes\nCanonicalDomains nosuch.invalid\nMatch canonical\n Port 7\n"
    ),
    # Include
    "Include": Case(
        "Include @/more\nHost a\n Port 5\n User late\n", files={"more": "Host a\n User inc\n"}
    ),
    "Include with a glob, in order": Case(
        "Include @/*.conf\nPort 5\n",
        files={"2.conf": "Port 2\n", "1.conf": "Port 1\n", "0.txt": "Port 0\n"},
    ),
    "Include nested": Case(
        "Include @/one\nPort 5\n",
        files={"one": "Host a\n Include @/two\n User u\n", "two": "IdentityFile two\n"},
    ),
    "Include ends its blocks": Case(
        "Include @/more\nUser late\n", files={"more": "Host zz\n Port 4\n"}
    ),
    "Include in a block that fits": Case("Host a\n Include @/more\n", files={"more": "Port 4\n"}),
    "Include in a block that does not fit": Case(
        "Host b\n Include @/more\nHost a\n User u\n", files={"more": "Port 4\n"}
    ),
    "Include of nothing": Case("Include @/none*\nHost a\n Port 9\n"),
    "Include of two, one quoted": Case(
        'Include "@/b c" @/d\n', files={"b c": "Port 4\n", "d": "User u\n"}
    ),
    # tokens
    "tokens in HostName": Case("Host a\n HostName %h.ex.org\n"),
    "tokens in keys": Case(
        "Host a\n HostName h\n User r\n Port 9\n IdentityFile ~/%n-%h-%p-%r-%u-%i-%L-%l-%%\n"
    ),
    "the home and the digest": Case(
        "Host a\n IdentityFile %d/%C\n CertificateFile ~/%C\n ControlPath ~/.ssh/%C\n"
    ),
    "tokens in a proxy": Case(
        "Host a\n HostName h\n Port 9\n ProxyCommand ~/bin/p.sh %h %p %r %n %% 2>/dev/null\n"
    ),
    "variables": Case("Host a\n IdentityFile ${HOME}/k\n UserKnownHostsFile ${HOME}/kh\n"),
    "the alias as a token": Case("Host a\n HostKeyAlias al\n IdentityFile ~/%k\n"),
    "tokens in known hosts": Case("Host a\n UserKnownHostsFile ~/.ssh/%h.known ~/x\n"),
    # values
    "times with units": Case("Host a\n ConnectTimeout 1m30s\n ServerAliveInterval 2M\n"),
    "times without units": Case(
        "Host a\n ConnectTimeout 7\n ServerAliveInterval 15\n ServerAliveCountMax 9\n"
    ),
    "no time": Case("Host a\n ConnectTimeout none\n ServerAliveInterval 0\n"),
    "a service as a port": Case("Host a\n Port ssh\n"),
    "another service": Case("Host a\n Port http\n"),
    "a port with zeros": Case("Host a\n Port 0022\n"),
    "no known hosts": Case("Host a\n UserKnownHostsFile none\n GlobalKnownHostsFile none\n"),
    "known hosts in a list": Case(
        "Host a\n UserKnownHostsFile ~/a ~/b\n UserKnownHostsFile ~/c\n GlobalKnownHostsFile /x\n"
    ),
    "known hosts with a blank": Case(
        'Host a\n UserKnownHostsFile "@/k h" @/b\n', files={"k h": "", "b": ""}
    ),
    "known hosts with blanks, not there yet": Case(
        'Host a\n UserKnownHostsFile "@/k  h x" @/b\n GlobalKnownHostsFile @/b "/no where/c d"\n'
    ),
    "a percent sign in known hosts": Case("Host a\n UserKnownHostsFile @/50%% @/b\n"),
    "known hosts with a blank, all there": Case(
        'Host a\n GlobalKnownHostsFile "@/g h"\n', files={"g h": "", "h": ""}
    ),
    "keys with blanks": Case('Host a\n IdentityFile "@/my  key"\n IdentityFile ~/b\\ c\n'),
    "certificates with blanks": Case(
        'Host a\n CertificateFile "@/my cert"\n CertificateFile @/c\n'
    ),
    "an agent with a blank": Case('Host a\n IdentityAgent "@/a gent"\n'),
    "checking": Case(
        "Host a\n StrictHostKeyChecking accept-new\nHost *\n StrictHostKeyChecking no\n"
    ),
    "checking off": Case("Host a\n StrictHostKeyChecking off\n"),
    "yes and true": Case("Host a\n IdentitiesOnly true\n Compression Yes\n TCPKeepAlive no\n"),
    "an agent": Case("Host a\n IdentityAgent ~/agent-%u\n"),
    "an agent by a variable": Case("Host a\n IdentityAgent $MY_AGENT\n"),
    "an agent by its usual variable": Case("Host a\n IdentityAgent SSH_AUTH_SOCK\n"),
    "an agent by a variable in a path": Case("Host a\n IdentityAgent ${HOME}/agent\n"),
    "no agent": Case("Host a\n IdentityAgent none\n"),
    "logins": Case(
        "Host a\n PubkeyAuthentication no\n PasswordAuthentication no\n"
        " PreferredAuthentications keyboard-interactive,password\n"
    ),
    "the older name of questions": Case("Host a\n ChallengeResponseAuthentication no\n"),
    "addresses": Case("Host a\n AddressFamily inet6\n BindAddress 127.0.0.1\n"),
    "environment": Case(
        'Host a\n SendEnv LANG LC_* -LANG\n SetEnv A=b C="d e"\n SetEnv F=g\n SendEnv X\n'
    ),
    "a master": Case("Host a\n ControlMaster auto\n ControlPath ~/.ssh/%r@%h:%p\n"),
    "unknown words that are ignored": Case(
        "IgnoreUnknown foo,bar*\nHost a\n Foo 1\n Barx 2\n Port 9\n"
    ),
    "unknown words in any case": Case("IgnoreUnknown UseKeychain,B*\nUseKeychain yes\nBarx 2\n"),
    "words that ssh no longer has": Case("Host a\n Protocol 2\n Cipher 3des\n Port 9\n"),
    # proxies
    "a jump": Case("Host a\n ProxyJump me@j:33,k\n"),
    "a jump by a URI": Case("Host a\n ProxyJump ssh://u@h:33,[::1]:44\n"),
    "a jump with an equal sign": Case("Host a\n ProxyJump = b\n"),
    "a jump before a command": Case("Host a\n ProxyJump b\n ProxyCommand nc x\n"),
    "a command before a jump": Case("Host a\n ProxyCommand nc x\n ProxyJump b\n"),
    "a jump with tokens": Case("Host a\n HostName h\n ProxyJump %r@gw-%n-%h\n"),
    "no jump": Case("Host a\n ProxyJump none\nHost *\n ProxyJump b\n"),
    "no jump, but a command": Case("Host a\n ProxyJump none\n ProxyCommand nc x\n"),
    "no jump, and a command for all": Case("Host a\n ProxyJump none\nHost *\n ProxyCommand x\n"),
    "no command": Case("Host a\n ProxyCommand none\nHost *\n ProxyCommand b\n"),
    "no command, so no jump": Case("Host a\n ProxyCommand none\nHost *\n ProxyJump b\n"),
    "a given jump": Case("Host a\n ProxyJump b\n", jump="q,w"),
    # what is given wins
    "user and port are given": Case("Host a\n User x\n Port 9\n", user="me", port=77),
    "a user in the name": Case("Host a\n User x\n Port 9\n", "me@a"),
    "two at signs": Case("Host a\n User x\n", "me@you@a"),
    "a URI": Case("Host a\n User x\n Port 9\n", "ssh://me@a:99/"),
}

REJECTED: Mapping[str, Case] = {
    "an unknown word": Case("Host a\n Foo x\n"),
    "an unknown word in another block": Case("Host b\n Foo x\nHost a\n Port 9\n"),
    "a bad port": Case("Host a\n Port many\n"),
    "a bad port in another block": Case("Host b\n Port 0\n"),
    "a port that is too high": Case("Host a\n Port 65536\n"),
    "an open quote": Case('Host a\n User "me\n'),
    "two values": Case("Host a\n User me extra\n"),
    "no value": Case("Host a\n User\n"),
    "a bad time": Case("Host a\n ConnectTimeout 1.5\n"),
    "a bad flag": Case("Host a\n IdentitiesOnly maybe\n"),
    "a word of Match that no ssh has": Case("Match foo g\n User me\n"),
    "Match all after two words": Case("Match canonical final all\n User me\n"),
    "Match all with more": Case("Match all host a\n User me\n"),
    "Match without an argument": Case("Match host\n User me\n"),
    "a byte order mark": Case("\ufeffHost a\n Port 3\n"),
    "an empty Host": Case('Host ""\n Port 3\n'),
    "a variable that is not set": Case("Host a\n UserKnownHostsFile ${NO_SUCH_VARIABLE}/x\n"),
    "a name that a shell would read": Case("", "a;b"),
    "a user that a shell would read": Case("", "a", user="u`x`"),
    "an unknown token": Case("Host a\n UserKnownHostsFile ~/%z\n"),
}
"""Configs that ssh refuses; evalroom refuses them too, with the same line."""
