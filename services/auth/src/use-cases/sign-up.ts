import { emailSignupsDisabled, phoneSignupsDisabled } from '../errors.ts'
import { type PkceChallenge, parsePkce } from '../flows/pkce.ts'
import { type CreateSignUpDeps, createSignUp } from '../message-requests/create-sign-up.ts'
import { requireChannel } from '../messages/message-switches.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { type NewPasswordRules, requireNewPassword } from '../passwords/hash-new-password.ts'
import { requireSignUpPassword } from '../passwords/password-policy.ts'
import { pkceAtPhoneSignUp, twoAddressesAtSignUp } from '../request-errors.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type SessionView, type SessionViewDeps, signFirstSession } from '../sessions/session-view.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-repository.ts'
import type { UnconfirmedUser } from '../users/claim-identifier.ts'
import { requireMetadata } from '../users/metadata.ts'
import { requireIdentifier } from '../users/require-phone.ts'

/** The dependencies of a sign-up, by email or by phone. */
export type SignUpDeps = CreateSignUpDeps & SessionViewDeps & NewPasswordRules

/** The members of a request to sign up. Empty members count as absent. */
export interface SignUpFields {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly password?: string | undefined
  readonly channel?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** A session where no confirmation is needed; else a user record that reveals nothing about an existing account. */
export type SignUpResult =
  | { readonly verdict: 'signed-in'; readonly session: SessionView }
  | ({ readonly verdict: 'confirm' } & UnconfirmedUser)

/**
 * Signs a user up by email or phone (reference: POST /signup).
 * @throws signupDisabled, passwordMissingAtSignUp, twoAddressesAtSignUp, channelUnsupported, pkceAtPhoneSignUp,
 * emailSignupsDisabled, phoneSignupsDisabled, metadataTooLarge, and what `requireNewPassword`, `parsePkce`,
 * `requireIdentifier`, `readContext`, `createSignUp` and `signFirstSession` throw
 */
export async function signUp(
  deps: SignUpDeps,
  { fields, readContext }: { readonly fields: SignUpFields; readonly readContext: () => Promise<RequestContext> },
): Promise<SignUpResult> {
  const checked = await checkSignUp(deps, fields)
  const data = requireMetadata(deps.config, fields.data)
  const created = await createSignUp(deps, { ...checked, data, context: await readContext() })
  if (created.verdict === 'confirm') return created
  return { verdict: 'signed-in', session: await signFirstSession(deps, created.session) }
}

/** The members of a sign-up that has passed every check. */
interface CheckedSignUp {
  readonly identifier: UserIdentifier
  /** Meets the policy. */
  readonly password: string
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
}

/** Checks the members of a request (reference: POST /signup). The order of the checks decides which error a client sees. */
async function checkSignUp(
  deps: Pick<SignUpDeps, 'config' | 'db' | 'logger' | 'outbound'>,
  fields: SignUpFields,
): Promise<CheckedSignUp> {
  const { signup, sms } = deps.config
  const { email, phone } = fields
  requireSignUpsEnabled(deps.config)
  const password = requireSignUpPassword(fields.password)
  await requireNewPassword(deps, password)
  if (email && phone) throw twoAddressesAtSignUp()
  const channel = phone ? requireChannel(sms.provider, fields.channel) : 'sms'
  const hasPkce = Boolean(fields.code_challenge || fields.code_challenge_method)
  if (phone && hasPkce) throw pkceAtPhoneSignUp()
  const pkce = parsePkce(fields, signup.pkce)
  if (email && !signup.emailEnabled) throw emailSignupsDisabled()
  if (phone && !signup.phoneEnabled) throw phoneSignupsDisabled()
  return { identifier: await requireIdentifier(deps, fields), password, pkce, channel }
}
