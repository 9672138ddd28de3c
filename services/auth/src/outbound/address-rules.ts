import { BlockList, isIP, isIPv6 } from 'node:net'

/** The host that a URL names, and who wrote that URL. */
export interface OwnHost {
  readonly host: string
  readonly origin: 'operator' | 'data'
}

/** Whether a call to `own` may go to an address. */
export type AddressRule = (address: string, own: OwnHost) => boolean

/**
 * The rules of contract 9.3. Link-local, metadata, multicast, unspecified and broadcast addresses are never called;
 * loopback and private ones only where the operator's own setting names a loopback literal or `localhost`, or the
 * allow-list has the host or the range.
 */
export function createAddressRules(allowedHosts: readonly string[]): AddressRule {
  const never = toBlockList(NEVER)
  const internal = toBlockList(INTERNAL)
  const allowed = toBlockList(allowedHosts.filter((entry) => isIP(entry.split('/')[0] ?? '') !== 0))
  const names = new Set(allowedHosts.map((entry) => entry.toLowerCase()))
  return (address, { host, origin }) => {
    const plain = withoutMapping(address)
    const family = isIPv6(plain) ? 'ipv6' : 'ipv4'
    if (never.check(plain, family)) return false
    if (!internal.check(plain, family)) return true
    if (names.has(host.toLowerCase()) || allowed.check(plain, family)) return true
    return origin === 'operator' && isLoopback(plain) && (host === 'localhost' || isLoopback(withoutMapping(host)))
  }
}

const NEVER = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::254/128',
] as const

const INTERNAL = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '240.0.0.0/4',
  '::1/128',
  '64:ff9b::/96',
  'fc00::/7',
] as const

function toBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** `::ffff:10.0.0.1` and `::ffff:a00:1` are `10.0.0.1`. */
function withoutMapping(address: string): string {
  const text = isIPv6(address)
    ? (URL.parse(`http://[${address.split('%')[0]}]`)?.hostname.slice(1, -1) ?? address)
    : address
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? []
  if (high === undefined || low === undefined) return text
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return bits.flatMap((pair) => [pair >> 8, pair & 255]).join('.')
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^127\./.test(address)
}
