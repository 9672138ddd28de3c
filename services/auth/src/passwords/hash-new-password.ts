import { createHash } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { serviceUnavailable } from '../errors.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { commonPasswordError, type PasswordPolicy, requirePassword } from './password-policy.ts'

export interface NewPasswordRules extends BreachLookup {
  readonly config: BreachLookup['config'] & { readonly passwords: { readonly policy: PasswordPolicy } }
}

/**
 * Hashes a new password that may be stored. The caller holds no lock meanwhile, since the hash takes long and the list of
 * breached passwords is asked over the network.
 */
export async function hashNewPassword(
  deps: NewPasswordRules & { readonly passwords: Pick<PasswordHasher, 'hash'> },
  password: string,
): Promise<string> {
  await requireNewPassword(deps, password)
  return deps.passwords.hash(password)
}

/** Requires that a new password meets the policy and is not known from breaches (reference: Password policy). */
export async function requireNewPassword(deps: NewPasswordRules, password: string): Promise<void> {
  requirePassword(deps.config.passwords.policy, password)
  await refuseBreached(deps, password)
}

const RANGES = 'https://api.pwnedpasswords.com/range/'
const PREFIX_LENGTH = 5
const TIMEOUT_MS = 5_000

export interface BreachLookup {
  readonly config: { readonly passwords: { readonly breaches: BreachRules | undefined } }
  readonly outbound: Outbound
  readonly logger: ServiceLogger['logger']
}

/** How passwords are looked up; undefined where they are not. */
export interface BreachRules {
  readonly userAgent: string
  /** Whether a password is refused while the list cannot be reached. */
  readonly failsClosed: boolean
}

/** Refuses a password that is known from breaches, if the settings ask for that. The caller holds no lock meanwhile. */
export async function refuseBreached({ config, outbound, logger }: BreachLookup, password: string): Promise<void> {
  const { breaches } = config.passwords
  if (!breaches) return
  const isKnown = await isBreached(outbound, breaches.userAgent, password).catch((error) => {
    if (breaches.failsClosed) throw serviceUnavailable({ cause: error })
    logger.warn({ err: error }, 'a password was not looked up among the breached ones')
    return false
  })
  if (isKnown) throw commonPasswordError()
}

/**
 * Whether Have I Been Pwned lists a password. The list gets 5 of the 40 digits of the password's SHA-1. It answers with the
 * rest of each digest that begins with them, and with padding, whose count is 0.
 */
async function isBreached(outbound: Outbound, userAgent: string, password: string): Promise<boolean> {
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  const { status, body } = await outbound.send({
    method: 'GET',
    url: RANGES + digest.slice(0, PREFIX_LENGTH),
    headers: { 'user-agent': userAgent, 'add-padding': 'true' },
    timeoutMs: TIMEOUT_MS,
    origin: 'operator',
  })
  if (status !== 200) throw new Error(`the list of breached passwords answered ${status}`)
  const rest = digest.slice(PREFIX_LENGTH)
  return body.split('\n').some((line) => {
    const [suffix, count = '0'] = line.trim().split(':')
    return suffix === rest && count !== '0'
  })
}
