import ipaddr from 'ipaddr.js'

/** The host of a URL, and whether the URL comes from the operator or from data. */
export interface OwnHost {
  readonly host: string
  readonly origin: 'operator' | 'data'
}

/** Returns whether a call to `own` may connect to an address. */
export type AddressRule = (address: string, own: OwnHost) => boolean

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/**
 * Creates the rule for addresses of outgoing calls. Link-local, metadata, multicast, unspecified and broadcast addresses are
 * never allowed. A loopback address is allowed if a setting of the operator names a loopback address or `localhost`. Private and
 * other loopback addresses are allowed only if the list of allowed hosts contains the host or its network.
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

/** Returns whether the list of allowed hosts contains a host by name. Its address or network does not count. */
export function createNameRule(allowedHosts: readonly string[]): (host: string) => boolean {
  const names = new Set(allowedHosts.map((entry) => entry.toLowerCase()))
  return (host) => names.has(host.toLowerCase())
}

const NEVER_RANGES: ReadonlySet<string> = new Set(['linkLocal', 'multicast', 'unspecified', 'broadcast'])
/**
 * Metadata services of clouds, in addition to the link-local 169.254.169.254: AWS, Google Cloud, Oracle (new and classic),
 * Alibaba and Azure. The address of Azure lies in a public range.
 */
const METADATA: readonly Network[] = [
  [ipaddr.parse('fd00:ec2::254'), 128],
  [ipaddr.parse('fd20:ce::254'), 128],
  [ipaddr.parse('fd00:c1::a9fe:a9fe'), 128],
  [ipaddr.parse('192.0.0.192'), 32],
  [ipaddr.parse('100.100.100.200'), 32],
  [ipaddr.parse('168.63.129.16'), 32],
]
/** The routed part of IPv6. Addresses outside it, such as `::127.0.0.1`, are not public. */
const GLOBAL_IPV6: Network = [ipaddr.parse('2000::'), 3]
const NAT64: Network = [ipaddr.parse('64:ff9b::'), 96]

function isNever(address: Address): boolean {
  return NEVER_RANGES.has(address.range()) || METADATA.some((network) => contains(network, address))
}

function isPublic(address: Address): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || contains(GLOBAL_IPV6, address))
}

/** IPv4 inside IPv6 (mapped, NAT64) becomes IPv4, because the packet goes to the IPv4 address. */
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
