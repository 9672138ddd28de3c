import { type CreatedApp, toStoredKey } from '../apps/app.ts'
import { callRegisterApp } from '../apps/app-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { hashToken } from '../members/invitation.ts'
import type { CreateAppDeps } from './create-app.ts'

/**
 * Creates an app for a client, if the settings and the database permit it (reference: Registration).
 * @throws registrationClosed if only the operator may create apps, registrationInvited if registration needs a valid code and the
 * request has none
 */
export async function registerApp(
  { pools, pepper, generateApiKey, config }: CreateAppDeps & { readonly config: Pick<PaymentsConfig, 'registration'> },
  {
    name,
    code = '',
  }: {
    readonly name?: string | undefined
    readonly code?: string | undefined
  },
): Promise<CreatedApp> {
  const key = generateApiKey()
  const codeHash = config.registration === 'invited' ? hashToken(code) : null
  const app = { ...toStoredKey(pepper, key), name, codeHash }
  const registered = config.registration === 'closed' ? CLOSED : await callRegisterApp(pools, app)
  switch (registered.verdict) {
    case 'closed':
      throw registrationClosed()
    case 'not-invited':
      throw registrationInvited()
    case 'done':
      return { id: registered.id, name, key }
  }
}

const CLOSED = { verdict: 'closed' } as const
