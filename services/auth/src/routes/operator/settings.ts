import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PROFILES } from '../../config/compatibility.ts'
import { HOOK_NAMES } from '../../config/hooks.ts'
import type { AuthConfig } from '../../config.ts'
import { errorAnswers } from '../../error-body.ts'
import { type CustomProvider, listCustomProviders } from '../../external-providers/custom-provider-repository.ts'
import { warnOfSharedCallback } from '../../external-providers/find-provider.ts'
import { LimitView, viewLimits } from '../../rate-limits/rate-limits.ts'

const SettingsView = z.object({
  profile: z.enum(PROFILES),
  providers: z.array(
    z.object({
      name: z.string(),
      enabled: z.boolean(),
      client_id: z.string().optional().meta({ description: 'The first client id; absent where none is set' }),
    }),
  ),
  custom_providers: z.array(
    z.object({
      identifier: z.string(),
      name: z.string(),
      provider_type: z.enum(['oauth2', 'oidc']),
      enabled: z.boolean(),
      client_id: z.string(),
    }),
  ),
  hooks: z.array(
    z.object({
      name: z.enum(HOOK_NAMES),
      enabled: z.boolean(),
      host: z.string().optional().meta({ description: 'Of its URL; absent where the hook is off' }),
    }),
  ),
  limits: z.array(LimitView),
  mail: z.object({
    host: z.string().optional(),
    from: z.string().optional().meta({ description: 'The address of the sender. Absent where no server is set' }),
  }),
  sms: z.object({ provider: z.string().optional() }),
  warnings: z.array(z.string()).meta({ description: 'What whoever runs the service should change, in words' }),
})

/** `GET /operator/settings`: the settings of the service, without secrets (console reference: Settings of auth). */
export const operatorSettingsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { config, db } = app.deps
  app.get(
    '/operator/settings',
    {
      config: { action: 'settings.read' },
      schema: {
        operationId: 'getSettingsAsOperator',
        tags: ['Operators'],
        summary: 'Get providers, hooks and limits',
        description: 'No secret, and of URLs the host alone.',
        response: { 200: SettingsView, ...errorAnswers(401, 404) },
      },
    },
    async () => viewSettings(config, await listCustomProviders(db, undefined)),
  )
}

function viewSettings(config: AuthConfig, custom: readonly CustomProvider[]): z.output<typeof SettingsView> {
  const { external, hooks, mail, sms } = config
  return {
    profile: config.profile,
    providers: [...external.providers].map(([name, { enabled, clientIds }]) => ({
      name,
      enabled,
      client_id: clientIds[0],
    })),
    custom_providers: custom.map(({ identifier, settings: { name, provider_type, enabled, client_id } }) => ({
      identifier,
      name,
      provider_type,
      enabled,
      client_id,
    })),
    hooks: HOOK_NAMES.map((name) => {
      const hook = hooks[name]
      return { name, enabled: hook !== undefined, host: hook && new URL(hook.url).host }
    }),
    limits: [...viewLimits(config.rateLimits)],
    mail: { host: mail.smtp?.host, from: mail.smtp?.from.address },
    sms: { provider: sms.provider },
    warnings: [...warnOfSharedCallback(config, custom)],
  }
}
