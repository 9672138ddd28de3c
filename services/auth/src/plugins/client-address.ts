import { addressKey, toAddress } from '@trestle/common/server/address-key.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthConfig } from '../config.ts'

/** Where a request comes from. */
export interface ClientAddress {
  /** The client's address, for every limit, the log and the audit trail; empty where the socket has none. */
  readonly address: string
  /** Key of the request limits, of IPv6 the network; undefined: the request is not limited. */
  readonly limitKey: string | undefined
  /** The client's address, or network of IPv6, by which somebody may be known; undefined: it may be a proxy's, of everybody. */
  readonly network: string | undefined
}

interface Sources {
  /** The socket's address, or what trusted proxies say in X-Forwarded-For. */
  readonly ip: string
  header(name: string): string | undefined
}

/** Reads the client's address: the first value of Auth-Forwarded-For where that is on and is an address, else `ip`. */
export function readClientAddress(config: AddressConfig, { ip, header }: Sources): ClientAddress {
  const told = config.forwardedForEnabled ? toAddress(header('auth-forwarded-for')?.split(',')[0]) : undefined
  const address = told ?? toAddress(ip) ?? ''
  const { limitsBy } = config
  if (limitsBy === 'nothing') return { address, limitKey: undefined, network: undefined }
  const counted = limitsBy === 'address' ? address : header(limitsBy.header)?.trim()
  const limitKey = counted ? addressKey(counted) : undefined
  return { address, limitKey, network: limitsBy === 'address' ? limitKey : undefined }
}

interface AddressConfig {
  readonly forwardedForEnabled: boolean
  /** What the request limits count under. A header's name is in lower case. */
  readonly limitsBy: 'nothing' | 'address' | { readonly header: string }
}

type Config = Pick<AuthConfig, 'security' | 'rateLimits'>

/**
 * A header that RATE_LIMIT_HEADER names is used whole. X-Forwarded-For is no such header, because clients can write into
 * it: it counts as far as proxies are trusted, which the client's address tells. Without any of these settings, nobody
 * has said what stands in front: all clients may share the proxy's address, so they are not limited.
 */
function addressConfig({ security, rateLimits: { header } }: Config): AddressConfig {
  const { forwardedForEnabled, trustedProxies } = security
  if (header !== undefined && header !== 'x-forwarded-for') return { forwardedForEnabled, limitsBy: { header } }
  const isAddressKnown = header !== undefined || forwardedForEnabled || trustedProxies !== undefined
  return { forwardedForEnabled, limitsBy: isAddressKnown ? 'address' : 'nothing' }
}

/** Sets `request.clientAddress` and the log line's `remote_addr`; says once when a proxy does not send the header that it should. */
export const clientAddress = fp<{ readonly config: Config }>(
  async (app: FastifyInstance, { config }) => {
    const addresses = addressConfig(config)
    let warned = addresses.limitsBy === 'nothing'
    app.decorateRequest('clientAddress')
    app.addHook('onRequest', (request, _reply, done) => {
      const header = (name: string): string | undefined => {
        const value = request.headers[name]
        return Array.isArray(value) ? value[0] : value
      }
      request.clientAddress = readClientAddress(addresses, { ip: request.ip, header })
      request.logFields = { remote_addr: request.clientAddress.address }
      if (!warned && request.clientAddress.limitKey === undefined) {
        warned = true
        app.log.warn({ header: config.rateLimits.header }, 'a request came without the header of the rate limits')
      }
      done()
    })
  },
  { name: 'client-address' },
)

declare module 'fastify' {
  interface FastifyRequest {
    clientAddress: ClientAddress
  }
}
