import { z } from 'zod'
import type { CustomProvider } from './custom-provider-repository.ts'

const timestamp = z.string().meta({ format: 'date-time' })

/** A custom provider as admins see it: all but its secret. */
export const customProviderView = z.looseObject({
  id: z.guid(),
  provider_type: z.enum(['oauth2', 'oidc']),
  identifier: z.string(),
  name: z.string(),
  client_id: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
})

export type CustomProviderView = z.output<typeof customProviderView>

export function toCustomProviderView(provider: CustomProvider): CustomProviderView {
  const { id, identifier, settings, createdAt, updatedAt } = provider
  return { id, identifier, ...settings, created_at: createdAt, updated_at: updatedAt }
}
