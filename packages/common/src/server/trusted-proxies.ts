import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { toAddress } from './address-key.ts'

/**
 * Whose word about the client's address counts: so many hops, or everybody in these networks (canonical CIDR). 0 and the
 * empty list are nobody.
 */
export type TrustedProxies = number | readonly string[]

const HOPS_MAX = 99

/** Reads `2`, or `10.0.0.0/8, 2001:db8::1`. Undefined when the text is neither a count nor such a list. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d+$/.test(text.trim())) return Number(text) <= HOPS_MAX ? Number(text) : undefined
  const networks = text.split(',').map((entry) => toNetwork(entry.trim()))
  return networks.every((network) => network !== undefined) ? networks : undefined
}

/**
 * Reads the client's address of a request: the socket's, or, as far as proxies are trusted, what they say in
 * X-Forwarded-For. Each proxy appends the address that it was called from, so the header is read from the right: the
 * first address that is not a trusted proxy is the client, and a client can change nothing to the right of its own entry.
 * Empty entries are skipped. An entry that is no address ends the reading: the proxy that reports it counts as the client.
 */
export function createAddressReader(
  trusted: TrustedProxies,
): (socketAddress: string | undefined, forwardedFor: string | undefined) => string {
  const trusts = createTrust(trusted)
  return (socketAddress, forwardedFor) => {
    let address = toAddress(socketAddress) ?? ''
    let rest = forwardedFor ?? ''
    for (let hop = 0; rest !== '' && trusts(address, hop); ) {
      const comma = rest.lastIndexOf(',')
      const entry = rest.slice(comma + 1).trim()
      rest = rest.slice(0, Math.max(0, comma))
      if (entry === '') continue
      const next = toAddress(entry)
      if (next === undefined) break
      address = next
      hop += 1
    }
    return address
  }
}

/** Reads by which protocol the client came: the socket's, or the one that a trusted peer names in X-Forwarded-Proto. */
export function createProtocolReader(trusted: TrustedProxies): (request: IncomingMessage) => 'https' | 'http' {
  const readForwarded = createForwardedReader(trusted)
  return (request) => {
    const told = readForwarded(request, 'x-forwarded-proto')?.toLowerCase()
    const isSecure = told === undefined ? 'encrypted' in request.socket : told === 'https'
    return isSecure ? 'https' : 'http'
  }
}

/** Reads the last value of an X-Forwarded header, which the peer has written. Undefined where the peer is not trusted. */
function createForwardedReader(
  trusted: TrustedProxies,
): ({ headers, socket }: IncomingMessage, name: string) => string | undefined {
  const trusts = createTrust(trusted)
  return ({ headers, socket }, name) => {
    const value = headers[name]
    if (value === undefined || !trusts(toAddress(socket.remoteAddress) ?? '', 0)) return undefined
    return String(value).split(',').at(-1)?.trim()
  }
}

/**
 * Makes `request.ip` the client's address for every limit and log line. `request.protocol` and `request.host` follow the
 * X-Forwarded headers of a trusted peer, and of nobody else. Fastify's own `trustProxy` would also take an entry that is
 * no address, or that ends in a port, for the client.
 */
export function trustProxies(app: FastifyInstance, trusted: TrustedProxies): void {
  const readAddress = createAddressReader(trusted)
  const readProtocol = createProtocolReader(trusted)
  const readForwarded = createForwardedReader(trusted)
  app.decorateRequest('ip', {
    getter(this: FastifyRequest) {
      return readAddress(this.raw.socket.remoteAddress, this.raw.headers['x-forwarded-for']?.toString())
    },
  })
  app.decorateRequest('protocol', {
    getter(this: FastifyRequest) {
      return readProtocol(this.raw)
    },
  })
  app.decorateRequest('host', {
    getter(this: FastifyRequest) {
      return readForwarded(this.raw, 'x-forwarded-host') ?? this.raw.headers.host ?? ''
    },
  })
}

function createTrust(trusted: TrustedProxies): (address: string, hop: number) => boolean {
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted
  const networks = trusted.map((network) => ipaddr.parseCIDR(network))
  return (text) => {
    if (isIP(text) === 0) return false
    const address = ipaddr.parse(text)
    return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

/**
 * A network in CIDR form; an address is a network of its own. A network of all addresses is refused: every client could
 * then choose its address. Addresses are compared in the form of `toAddress`, so IPv4 inside IPv6 becomes IPv4 here too.
 */
function toNetwork(entry: string): string | undefined {
  const [host = '', prefix, ...more] = entry.split('/')
  const version = isIP(host)
  if (version === 0 || host.includes('%') || more.length > 0) return undefined
  if (prefix !== undefined && !/^[1-9]\d{0,2}$/.test(prefix)) return undefined
  const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix)
  if (bits > (version === 4 ? 32 : 128)) return undefined
  const address = ipaddr.parse(host)
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress()) return `${address}/${bits}`
  return bits > MAPPED_BITS ? `${address.toIPv4Address()}/${bits - MAPPED_BITS}` : undefined
}

/** Length of `::ffff:`, which stands before an IPv4 address inside IPv6. */
const MAPPED_BITS = 96
