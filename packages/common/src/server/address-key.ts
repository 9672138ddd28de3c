import ipaddr from 'ipaddr.js'

/**
 * What an address is counted under: of IPv6 its network of 64 bits, within which one customer has every address and may take a
 * new one for each request (RFC 6177); an IPv4 address, and what is none, itself.
 */
export function addressKey(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const read = ipaddr.process(address)
  if (!(read instanceof ipaddr.IPv6)) return read.toString()
  return `${new ipaddr.IPv6([...read.parts.slice(0, NETWORK_PARTS), 0, 0, 0, 0])}/64`
}

/** Of 16 bits each. */
const NETWORK_PARTS = 4
