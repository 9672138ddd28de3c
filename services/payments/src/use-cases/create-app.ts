import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateApp, callCreateInvitedApp } from '../apps/app-repository.ts'
import type { CreatedApp } from '../apps/app-view.ts'
import type { PaymentsDeps } from '../deps.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { hashToken } from '../members/invitation.ts'

/** What `createApp` uses of the dependencies. */
export type CreateAppDeps = Pick<PaymentsDeps, 'lanes' | 'pepper' | 'createKey'>

/** Makes an app. Only the caller learns the key: the service stores its MAC. */
export async function createApp(
  { lanes, pepper, createKey }: CreateAppDeps,
  { name }: { readonly name: string | undefined },
): Promise<CreatedApp> {
  const key = createKey()
  const id = await callCreateApp(lanes, { keyMac: keyMac(pepper, key), hint: keyHint(key), name })
  return { id, name, key }
}

/**
 * Makes an app for a client, where the operator permits it.
 * @throws registrationClosed where only the operator makes apps, registrationInvited where a good code is needed and missing
 */
export async function registerApp(
  deps: CreateAppDeps & Pick<PaymentsDeps, 'registration'>,
  { name, code }: { readonly name?: string | undefined; readonly code?: string | undefined },
): Promise<CreatedApp> {
  if (deps.registration === 'closed') throw registrationClosed()
  if (deps.registration === 'open') return createApp(deps, { name })
  const key = deps.createKey()
  const app = { keyMac: keyMac(deps.pepper, key), hint: keyHint(key), name }
  const id =
    code === undefined ? undefined : await callCreateInvitedApp(deps.lanes, { ...app, codeHash: hashToken(code) })
  if (id === undefined) throw registrationInvited()
  return { id, name, key }
}
