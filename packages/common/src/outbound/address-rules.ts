import ipaddr from 'ipaddr.js'

/** The host that a URL names, and whether the operator wrote the URL. */
export interface OwnHost {
  readonly host: string
  readonly origin: 'operator' | 'data'
}

/** Whether a call to `own` may go to an address. */
export type AddressRule = (address: string, own: OwnHost) => boolean

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/**
 * Link-local, metadata, multicast, unspecified and broadcast addresses are never called. Loopback addresses are called only if
 * a setting of the operator names a loopback address or `localhost`. Private addresses, and other loopback addresses, are
 * called only if the list of allowed hosts has the host or its network.
 */
export function createAddressRules(allowedHosts: readonly string[]): AddressRule {
  const isNamed = createNameRule(allowedHosts)
  const networks = allowedHosts.flatMap(parseNetwork)
  return (text, { host, origin }) => {
    const address = parseAddress(text)
    if (!address || isNever(address)) return false
    if (isPublic(address) || isNamed(host)) return true
    if (networks.some((network) => contains(network, address))) return true
    return origin === 'operator' && address.range() === 'loopback' && namesLoopback(host)
  }
}

/** Returns whether the list of allowed hosts names a host itself, and not only its address or its network. */
export function createNameRule(allowedHosts: readonly string[]): (host: string) => boolean {
  const names = new Set(allowedHosts.map((entry) => entry.toLowerCase()))
  return (host) => names.has(host.toLowerCase())
}

const NEVER_RANGES: ReadonlySet<string> = new Set(['linkLocal', 'multicast', 'unspecified', 'broadcast'])
/**
 * Metadata services of clouds besides the link-local 169.254.169.254: AWS, Google Cloud, Oracle (new and classic), Alibaba, and
 * Azure, whose address lies among public ones.
 */
const METADATA: readonly Network[] = [
  [ipaddr.parse('fd00:ec2::254'), 128],
  [ipaddr.parse('fd20:ce::254'), 128],
  [ipaddr.parse('fd00:c1::a9fe:a9fe'), 128],
  [ipaddr.parse('192.0.0.192'), 32],
  [ipaddr.parse('100.100.100.200'), 32],
  [ipaddr.parse('168.63.129.16'), 32],
]
/** The routed part of IPv6. Other addresses without a range of their own, such as `::127.0.0.1`, are not public. */
const GLOBAL_IPV6: Network = [ipaddr.parse('2000::'), 3]
const NAT64: Network = [ipaddr.parse('64:ff9b::'), 96]

function isNever(address: Address): boolean {
  return NEVER_RANGES.has(address.range()) || METADATA.some((network) => contains(network, address))
}

function isPublic(address: Address): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || contains(GLOBAL_IPV6, address))
}

/** The address that receives a packet: an IPv4 address inside an IPv6 address (mapped, NAT64) counts as IPv4. */
function parseAddress(text: string): Address | undefined {
  if (!ipaddr.isValid(text)) return undefined
  const address = ipaddr.process(text)
  return contains(NAT64, address) ? ipaddr.fromByteArray(address.toByteArray().slice(-4)) : address
}

function parseNetwork(entry: string): Network[] {
  if (ipaddr.isValidCIDR(entry)) return [ipaddr.parseCIDR(entry)]
  const address = parseAddress(entry)
  return address ? [[address, address.kind() === 'ipv4' ? 32 : 128]] : []
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits)
}

export function namesLoopback(host: string): boolean {
  return host === 'localhost' || parseAddress(host)?.range() === 'loopback'
}
