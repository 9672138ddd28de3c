import type { AuthConfig } from '../config.ts'
import { signupDisabled } from '../errors.ts'

/** Requires that strangers may sign up, which AUTH_DISABLE_SIGNUP forbids. @throws signupDisabled */
export function requireSignUpsEnabled({ signup }: { readonly signup: Pick<AuthConfig['signup'], 'disabled'> }): void {
  if (signup.disabled) throw signupDisabled()
}
