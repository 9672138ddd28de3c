import { type BreachLookup, refuseBreached } from './breached-passwords.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { type PasswordPolicy, requirePassword } from './password-policy.ts'

/** The dependencies of the judgement of a new password: the policy, and how breached passwords are looked up. */
export interface NewPasswordRules extends BreachLookup {
  readonly config: BreachLookup['config'] & { readonly passwords: { readonly policy: PasswordPolicy } }
}

/**
 * Hashes a new password that may be stored. The caller holds no lock meanwhile, since the hash takes long and
 * the list of breached passwords is asked over the network.
 * @throws what `requireNewPassword` throws, and serverBusy
 */
export async function hashNewPassword(
  deps: NewPasswordRules & { readonly passwords: Pick<PasswordHasher, 'hash'> },
  password: string,
): Promise<string> {
  await requireNewPassword(deps, password)
  return deps.passwords.hash(password)
}

/**
 * Requires that a new password meets the policy and is not known from breaches (reference: Password policy).
 * @throws passwordTooLong, weakPassword, serviceUnavailable
 */
export async function requireNewPassword(deps: NewPasswordRules, password: string): Promise<void> {
  requirePassword(deps.config.passwords.policy, password)
  await refuseBreached(deps, password)
}
