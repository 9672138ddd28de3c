import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateInvitedApp } from '../apps/app-repository.ts'
import type { PaymentsDeps } from '../deps.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { hashToken } from '../invitations/invitation.ts'
import { type CreateAppDeps, type CreatedApp, createApp } from './create-app.ts'

/** Makes an app for somebody from outside, as far as the operator lets them. @throws 403 where they may not */
export async function registerApp(
  deps: CreateAppDeps & Pick<PaymentsDeps, 'registration'>,
  { name, code }: { readonly name?: string | undefined; readonly code?: string | undefined },
): Promise<CreatedApp> {
  if (deps.registration === 'closed') throw registrationClosed()
  if (deps.registration === 'open') return createApp(deps, { name })
  if (code === undefined) throw registrationInvited()
  const key = deps.createKey()
  const app = { codeHash: hashToken(code), keyMac: keyMac(deps.pepper, key), hint: keyHint(key), name }
  const id = await callCreateInvitedApp(deps.lanes, app)
  if (id === undefined) throw registrationInvited()
  return { id, name, key }
}
