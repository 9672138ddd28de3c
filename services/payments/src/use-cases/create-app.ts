import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateApp, callCreateInvitedApp } from '../apps/app-repository.ts'
import type { PaymentsDeps } from '../deps.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { hashToken } from '../members/invitation.ts'

export type CreateAppDeps = Pick<PaymentsDeps, 'lanes' | 'pepper' | 'createKey'>

/** An app as it is answered to whoever made it. */
export interface CreatedApp {
  readonly id: string
  readonly name: string | undefined
  readonly key: string
}

/** Makes an app. Its key is known to the caller alone from here on: only a digest is kept. */
export async function createApp(
  { lanes, pepper, createKey }: CreateAppDeps,
  { name }: { readonly name: string | undefined },
): Promise<CreatedApp> {
  const key = createKey()
  const id = await callCreateApp(lanes, { keyMac: keyMac(pepper, key), hint: keyHint(key), name })
  return { id, name, key }
}

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
