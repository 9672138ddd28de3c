import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { addApp } from './authenticator-app.ts'
import { type CustomApp, oauth2, oidc, openCustomApp } from './external/custom-app.ts'
import { CODE } from './external/provider-stub.ts'
import { OPERATOR } from './forged-token.ts'
import { type HookStub, startHookStub } from './hook-stub.ts'
import { type MailApp, openBeside } from './mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from './operators.ts'
import { paths } from './passkey-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

type Headers = SignedIn['headers']

/** The services for requests that write audit entries. */
export interface AuditWorld {
  readonly service: CustomApp
  /** A service on the same database, with hooks that end all sessions of a user. */
  readonly hooked: MailApp
  readonly operator: SignedInOperator
  close(): Promise<void>
}

/** Providers with their own redirect URI, with the shared `/callback`, and with id_tokens. */
export const CUSTOM = { own: 'custom:own', shared: 'custom:shared', idToken: 'custom:idp' } as const

const SETTINGS = {
  ...OPERATOR_SETTINGS,
  // No request has this header, so the address limits count none.
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_SMTP_MAX_FREQUENCY: '1ms',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'app.example.com',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
  AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
  AUTH_OPERATOR_SIGN_IN_AS: 'true',
}

/** Opens both services, with an operator of the role admin, and three custom providers. */
export async function openAuditWorld(): Promise<AuditWorld> {
  const hooks: HookStub = await startHookStub()
  const service = await openCustomApp(SETTINGS)
  const reject = { decision: 'reject', message: 'No', should_logout_user: true }
  hooks.answer = () => ({ body: reject })
  const settings = hooks.settings('MFA_VERIFICATION_ATTEMPT', 'PASSWORD_VERIFICATION_ATTEMPT')
  const hooked = await openBeside(service, { ...SETTINGS, ...settings })
  service.play({})
  await service.add(oauth2(CUSTOM.own))
  await service.add(oauth2(CUSTOM.shared, { callback: 'shared' }))
  await service.add(oidc(CUSTOM.idToken))
  const operator = await createOperator(service, 'admin')
  return {
    service,
    hooked,
    operator,
    close: async () => {
      await hooked.app.close()
      await service.close()
      await hooks.close()
    },
  }
}

let count = 0

/** An address without a user. */
export function newEmail(): string {
  count += 1
  return `traced-${count}@example.com`
}

/** Begins a sign-in at a custom provider, for a new or a known email. @returns the query of the browser's return */
export async function beginAt(
  { service }: AuditWorld,
  provider: string,
  { email = newEmail(), ...query }: Readonly<Record<string, string>> = {},
): Promise<string> {
  count += 1
  service.play({ userinfo: { id: `account-${count}`, email, email_verified: true } })
  const { state } = await service.begin(provider, query)
  return String(new URLSearchParams({ state, code: CODE }))
}

/** Invites a new address. @returns the address, and the token of the link */
export async function invite({ service }: AuditWorld): Promise<{ readonly email: string; readonly token: string }> {
  const email = newEmail()
  await service.post('/invite', { email }, OPERATOR)
  return { email, token: (await service.readMail(email)).token }
}

/** Requests a message by a path. @returns the query of its link, and the body with its code */
export async function askMessage({ service }: AuditWorld, path: string, payload: { readonly email: string }) {
  await service.post(path, payload)
  const { link, code } = await service.readMail(payload.email)
  const type = link.searchParams.get('type') ?? ''
  return { url: `${link.pathname}${link.search}`, body: { type, email: payload.email, token: code } }
}

/** Requests a change of email. @returns the result of `askMessage` for the new address */
export async function askEmailChange({ service }: AuditWorld) {
  const { headers, email } = await createSignedIn(service)
  const wanted = newEmail()
  await service.app.inject({ method: 'PUT', url: '/user', headers, payload: { email: wanted } })
  await service.readMail(email)
  const { link, code } = await service.readMail(wanted)
  return { url: `${link.pathname}${link.search}`, body: { type: 'email_change', email: wanted, token: code } }
}

/** A user with an authenticator app, recovery codes, and a session of aal2. */
export async function createWithCodes({ service }: AuditWorld) {
  const signedIn = await createSignedIn(service)
  const { headers, app } = await addApp(service, signedIn.headers)
  const { id, codes } = (await service.post('/factors/recovery-codes', {}, headers)).json()
  return { ...signedIn, headers, app, lowHeaders: signedIn.headers, codesId: String(id), code: String(codes[0]) }
}

/** The request that finishes the registration of a passkey. */
export async function askRegistration({ service }: AuditWorld, headers: Headers) {
  const key = createAuthenticator()
  const { challenge_id, options } = (await service.post(paths.start, {}, headers)).json()
  const payload = { challenge_id, credential: key.create(options) }
  return { key, request: { method: 'POST', url: paths.finish, headers, payload } } as const
}

export async function createWithPasskey(world: AuditWorld) {
  const signedIn = await createSignedIn(world.service)
  const { key, request } = await askRegistration(world, signedIn.headers)
  const passkeyId = String((await world.service.app.inject(request)).json().id)
  return { ...signedIn, key, passkeyId }
}
