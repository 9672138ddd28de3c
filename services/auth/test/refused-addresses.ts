import { isIPv6 } from 'node:net'

/** IPv4 addresses that the service may call only if the allow-list contains them. */
const IPV4 = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.254',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.254',
  '198.18.0.1',
  '198.19.255.254',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
] as const

const IPV6 = [
  '::',
  '::2',
  '::a00:1',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:a00:1::',
  '2002:a9fe:a9fe::',
  '3fff::1',
  'fc00::1',
  'fd00::1',
  'fd00:ec2::254',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
] as const

/** Host names and the addresses that they resolve to. */
export const RESOLVED: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'loopback6.example': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'private.example': ['10.0.0.1', '192.168.0.1'],
  'metadata.example': ['169.254.169.254'],
  'metadata6.example': ['fd00:ec2::254'],
  'local.example': ['fe80::1', '169.254.0.1'],
  'unspecified.example': ['0.0.0.0', '::'],
  'broadcast.example': ['255.255.255.255'],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  'localhost.example': ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1'],
  'xn--p8j9a0d9c9a.example': ['127.0.0.1'],
}

/** Returns every notation of an IPv4 address that URLs support. */
function spell(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const number = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = (value: number) => value.toString(16)
  const low = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`
  return [
    address,
    `${number}`,
    `0x${hex(number)}`,
    `0${number.toString(8)}`,
    `0x${hex(a)}.0${b.toString(8)}.${c * 256 + d}`,
    `[::ffff:${address}]`,
    `[0:0:0:0:0:ffff:${low}]`,
    `[64:ff9b::${low}]`,
  ]
}

/** More than 200 hosts, as in URLs. */
export const REFUSED_HOSTS: readonly string[] = [
  ...IPV4.flatMap(spell),
  ...IPV6.filter(isIPv6).map((address) => `[${address}]`),
  ...Object.keys(RESOLVED),
  'user@10.0.0.1',
  'api.twilio.com@169.254.169.254',
]

/** One host of each kind: all notations of one address, an IPv6 address, each kind of name, and a host with a user. */
export const REFUSED_KINDS: readonly string[] = [
  ...spell('169.254.169.254'),
  '[fd00:ec2::254]',
  'localhost.',
  'mapped.example',
  'nat64.example',
  'private.example',
  'local.example',
  'api.twilio.com@169.254.169.254',
]
