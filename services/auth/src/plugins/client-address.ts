import type { Meter } from '@opentelemetry/api'
import { addressKey, toAddress } from '@trestle/common/server/address-key.ts'
import { operatorLimitKey, readOperatorAddress } from '@trestle/operators/operator.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import { overEmailRateLimit } from '../errors.ts'
import type { Bucket, RateLimits } from '../rate-limits/rate-limits.ts'

/** The client address of a request, in the form for each use. */
export interface ClientAddress {
  /** The address for limits, the log and the audit log. Empty if the socket has none. */
  readonly ip: string
  /** The key of the request limits, for IPv6 the network. If it is `undefined`, the request is not limited. */
  readonly limitKey: string | undefined
  /** The key for failed passwords: the client address, or the browser address that a console states. */
  readonly failedAs: string
  /** The address or IPv6 network by which a user may be recognised. `undefined` if a proxy may own it. */
  readonly network: string | undefined
}

interface Sources {
  /** The socket address, or the address in X-Forwarded-For that trusted proxies state. */
  readonly ip: string
  header(name: string): string | undefined
}

/** Returns the first value of the first trusted header that begins with an address. Otherwise uses `ip`. */
export function readClientAddress(
  { headers, limitsBy }: AddressConfig,
  { ip, header }: Sources,
): Omit<ClientAddress, 'failedAs'> {
  let forwarded: string | undefined
  for (const name of headers) forwarded ??= toAddress(header(name)?.split(',')[0])
  const address = forwarded ?? toAddress(ip) ?? ''
  if (limitsBy === 'nothing') return { ip: address, limitKey: undefined, network: undefined }
  const counted = limitsBy === 'address' ? address : header(limitsBy.header)?.trim()
  const limitKey = counted ? addressKey(counted) : undefined
  return { ip: address, limitKey, network: limitsBy === 'address' ? limitKey : undefined }
}

interface AddressConfig {
  /** The headers with the client address, in lower case. The first one with a value counts. */
  readonly headers: readonly string[]
  /** The key of the request limits. The header name is in lower case. */
  readonly limitsBy: 'nothing' | 'address' | { readonly header: string }
}

type Config = Pick<AuthConfig, 'server' | 'rateLimits' | 'operators'>

/**
 * The whole header of RATE_LIMIT_HEADER is the key, except for X-Forwarded-For. Clients can write into that header, so the client
 * address that trusted proxies state is the key. Without any of these settings, all clients may share the address of a proxy.
 * Then requests are not limited.
 */
function addressConfig({ server, rateLimits: { header } }: Config): AddressConfig {
  const { addressHeaders: headers, trustedProxies } = server
  if (header !== undefined && header !== 'x-forwarded-for') return { headers, limitsBy: { header } }
  const isSet = trustedProxies !== undefined && trustedProxies !== 'private peer'
  const isAddressKnown = header !== undefined || headers.length > 0 || isSet
  return { headers, limitsBy: isAddressKnown ? 'address' : 'nothing' }
}

/**
 * Sets `request.clientAddress` and the log field `remote_addr`. A console states the address of its browser. Logs one warning if
 * a proxy does not send its header.
 */
export const clientAddress = fp<{ readonly config: Config }>(
  async (app: FastifyInstance, { config }) => {
    const addresses = addressConfig(config)
    let warned = addresses.limitsBy === 'nothing'
    app.decorateRequest('clientAddress')
    app.addHook('onRequest', (request, _reply, done) => {
      const forwarded = isOfConsole(request) ? readOperatorAddress(config.operators.keys, request.headers) : undefined
      request.clientAddress =
        forwarded === undefined ? connectionAddress(addresses, request) : browserAddress(forwarded, request)
      request.logFields = { remote_addr: request.clientAddress.ip }
      if (!warned && forwarded === undefined && request.clientAddress.limitKey === undefined) {
        warned = true
        app.log.warn({ header: config.rateLimits.header }, 'a request came without the header of the rate limits')
      }
      done()
    })
  },
  { name: 'client-address' },
)

/**
 * The browser address that a console states. Limits use it, because all requests of a console come from one address. Refreshes of
 * a console are not limited: it sends only tokens of auth, and another client at the browser address must not block operators.
 * Failed passwords count separately from other clients at that address. Otherwise the holder of a key could state the address of
 * a user and block the user's sign-ins.
 */
function browserAddress(ip: string, request: FastifyRequest): ClientAddress {
  const key = operatorLimitKey(ip)
  return { ip, limitKey: isRefresh(request) ? undefined : key, failedAs: key, network: addressKey(ip) }
}

/**
 * Whether a console may call the route. On other routes, such as those that send mails, the holder of a key must not choose the
 * address for the limits.
 */
function isOfConsole({ routeOptions }: FastifyRequest): boolean {
  const { rateBucket } = routeOptions.config
  return rateBucket === undefined || CONSOLE_BUCKETS.has(rateBucket)
}

/** The buckets of the requests with which operators sign in. */
const CONSOLE_BUCKETS: ReadonlySet<Bucket> = new Set(['token', 'verify', 'factor-challenge', 'factor-verify'])

const TokenGrant = z.looseObject({ grant_type: z.literal('refresh_token') })

function isRefresh({ query, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.rateBucket === 'token' && TokenGrant.safeParse(query).success
}

function connectionAddress(config: AddressConfig, request: FastifyRequest): ClientAddress {
  const client = readClientAddress(config, sourcesOf(request))
  return { ...client, failedAs: client.ip }
}

function sourcesOf({ ip, headers }: FastifyRequest): Sources {
  const header = (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  }
  return { ip, header }
}

declare module 'fastify' {
  interface FastifyRequest {
    clientAddress: ClientAddress
  }
}

interface LimitOptions {
  readonly rateLimits: RateLimits
  readonly meter: Meter
}

/**
 * Counts the requests of routes with a bucket in their config, before their body is read. A metric counts the requests that the
 * mail limit rejects.
 */
export const rateLimit = fp<LimitOptions>(
  async (app: FastifyInstance, { rateLimits, meter }) => {
    const noMailLeft = meter.createCounter('auth_email_rate_limit_total', {
      description: 'Requests refused because too many mails have gone out',
    })
    app.addHook('onResponse', (request, _reply, done) => {
      if (request.errorCode === overEmailRateLimit.code) noMailLeft.add(1, { path: request.routeOptions.url ?? '' })
      done()
    })
    app.addHook('onRequest', (request, _reply, done) => {
      const { rateBucket } = request.routeOptions.config
      if (rateBucket === undefined) return done()
      rateLimits.consume(rateBucket, request.clientAddress.limitKey).then(() => done(), done)
    })
  },
  { name: 'rate-limit', dependencies: ['client-address'] },
)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The bucket for requests of the route. */
    rateBucket?: Bucket
  }
}
