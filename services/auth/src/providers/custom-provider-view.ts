import { z } from 'zod'
import { customProviderSettings } from './custom-provider.ts'
import type { CustomProvider } from './custom-provider-repository.ts'

const timestamp = z.string().meta({ format: 'date-time' })

const stored = { id: z.guid(), identifier: z.string(), created_at: timestamp, updated_at: timestamp }
const [oauth2, oidc] = customProviderSettings.options

/** A custom provider as admins see it, without its secret. */
export const customProviderView = z.discriminatedUnion('provider_type', [oauth2.extend(stored), oidc.extend(stored)])

export type CustomProviderView = z.output<typeof customProviderView>

export function toCustomProviderView(provider: CustomProvider): CustomProviderView {
  const { id, identifier, settings, createdAt, updatedAt } = provider
  return { id, identifier, ...settings, created_at: createdAt, updated_at: updatedAt }
}
