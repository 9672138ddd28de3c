import { lookup, Resolver } from 'node:dns/promises'
import { createNameRule, type OwnHost } from './address-rules.ts'

/** An address of a name. `family` is 4 or 6. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Finds the addresses of the host that a URL names. @throws Error with a `code` when there are none, or none in time */
export type NameLookup = (own: OwnHost) => Promise<readonly ResolvedAddress[]>

/** Less than the five seconds of a webhook, so that an address that was found in time can still be called. */
const LOOKUP_MS = 3_000
/** After this time a name server is asked again, or the next one is. The second try waits twice as long. */
const FIRST_TRY_MS = 1_000
const TRIES = 2

/**
 * Looks names up in one of two ways.
 *
 * A name of a setting, and one that the operator allows by name, is looked up by the system (`getaddrinfo`), which
 * knows the hosts file, search domains and the names of a container network. Such a look-up holds a thread of
 * Node's pool until it ends, ten seconds or more where the name server is silent, also when nobody waits for it any
 * more. The pool has few threads, and file accesses of the process need them too.
 *
 * Whoever owns a name chooses its name server. So any other name that data holds, such as that of a merchant's
 * webhook, is looked up by c-ares, without a thread: a few silent name servers would stop the process otherwise.
 * c-ares is asked without the hosts file and search domains. A name that needs them must be in the list of allowed
 * hosts itself, because its network is not enough.
 * @param servers the name servers for c-ares. Default: those of the system
 */
export function createNameLookup(
  allowedHosts: readonly string[],
  { servers, lookupMs = LOOKUP_MS }: { readonly servers?: readonly string[]; readonly lookupMs?: number } = {},
): NameLookup {
  const isNamed = createNameRule(allowedHosts)
  return ({ host, origin }) => {
    if (origin === 'operator' || isNamed(host) || isLocalhost(host)) return lookup(host, { all: true })
    // A resolver reads the name servers when it is made, so a new one notices changed ones. Making it takes some 30 µs.
    const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return askNameServers(resolver, host, lookupMs)
  }
}

/** Whether a name means this machine wherever it is looked up (RFC 6761). */
export function isLocalhost(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host)
}

/** Returns the addresses of both families. Those of one are enough where the name servers do not answer for the other. */
async function askNameServers(resolver: Resolver, host: string, lookupMs: number): Promise<ResolvedAddress[]> {
  // The time of c-ares grows with the number of name servers.
  const timer = setTimeout(() => resolver.cancel(), lookupMs)
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  clearTimeout(timer)
  // IPv4 comes first: many containers have no IPv6, and a connection tries the families in turn.
  const addresses = answers.flatMap((answer, at) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })) : [],
  )
  if (addresses.length > 0) return addresses
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [toCode(answer.reason)] : []))
  throw new NameLookupFailed(host, codes.find((code) => code !== 'ENOTFOUND') ?? 'ENOTFOUND')
}

/** The codes of `getaddrinfo` where it has one, because callers know them. c-ares alone tells a silent name server apart. */
type FailureCode = 'ENOTFOUND' | 'EAI_AGAIN' | 'ETIMEOUT'

const CODES: Readonly<Record<string, FailureCode>> = {
  ENOTFOUND: 'ENOTFOUND',
  ENODATA: 'ENOTFOUND',
  EBADNAME: 'ENOTFOUND',
  ETIMEOUT: 'ETIMEOUT',
  ECANCELLED: 'ETIMEOUT',
}

function toCode(reason: unknown): FailureCode {
  return (reason instanceof Error && 'code' in reason && CODES[String(reason.code)]) || 'EAI_AGAIN'
}

/** The name servers have told no address. */
class NameLookupFailed extends Error {
  override readonly name = 'NameLookupFailed'
  readonly code: FailureCode

  constructor(host: string, code: FailureCode) {
    super(`look-up of ${host}: ${code}`)
    this.code = code
  }
}
