import { toStoredKey } from '../apps/app.ts'
import { callCreateInvitedApp } from '../apps/app-repository.ts'
import type { CreatedApp } from '../apps/app-view.ts'
import type { PaymentsConfig } from '../config.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { hashToken } from '../members/invitation.ts'
import { type CreateAppDeps, createApp } from './create-app.ts'

/** An app that a client wants. `code`: one that the operator has given out. */
export interface AppRegistration {
  readonly name?: string | undefined
  readonly code?: string | undefined
}

/**
 * Makes an app for a client, where the operator permits it (reference: Registration).
 * @throws registrationClosed where only the operator makes apps, registrationInvited where a good code is needed and the request has none
 */
export async function registerApp(
  deps: CreateAppDeps & { readonly config: Pick<PaymentsConfig, 'registration'> },
  { name, code }: AppRegistration,
): Promise<CreatedApp> {
  switch (deps.config.registration) {
    case 'closed':
      throw registrationClosed()
    case 'open':
      return createApp(deps, { name })
    case 'invited': {
      const invited = code === undefined ? undefined : await createInvitedApp(deps, { name, code })
      if (!invited) throw registrationInvited()
      return invited
    }
  }
}

/** Makes an app and uses the code up. Undefined for a code that is not good. */
async function createInvitedApp(
  { lanes, pepper, createKey }: CreateAppDeps,
  { name, code }: { readonly name: string | undefined; readonly code: string },
): Promise<CreatedApp | undefined> {
  const key = createKey()
  const id = await callCreateInvitedApp(lanes, { ...toStoredKey(pepper, key), name, codeHash: hashToken(code) })
  return id === undefined ? undefined : { id, name, key }
}
