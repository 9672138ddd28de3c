import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PROVIDERS } from '../config/external.ts'
import type { AuthConfig } from '../config.ts'
import { errorAnswers } from '../error-body.ts'

const SettingsAnswer = z.object({
  external: z.object(Object.fromEntries(PROVIDERS.map((provider) => [provider, z.boolean()]))).catchall(z.boolean()),
  disable_signup: z.boolean(),
  autoconfirm: z.boolean().optional(),
  mailer_autoconfirm: z.boolean(),
  phone_autoconfirm: z.boolean(),
  email_enabled: z.boolean().optional(),
  phone_enabled: z.boolean().optional(),
  anonymous_users_enabled: z.boolean().optional(),
  sms_provider: z.string(),
  saml_private_key_next_configured: z.boolean().optional(),
  saml_enabled: z.boolean(),
  passkeys_enabled: z.boolean(),
})

/** Providers that only supabase/auth supports. This service lists them as disabled. */
const OTHER_PROVIDERS = ['fly', 'kakao', 'linkedin_oidc', 'slack_oidc', 'zoom'] as const

/** `GET /settings`: the settings that are necessary for a sign-in form. */
export const settingsRoutes: FastifyPluginAsyncZod = async (app) => {
  const settings = viewSettings(app.deps.config)
  app.get(
    '/settings',
    {
      schema: {
        operationId: 'getSettings',
        tags: ['Service'],
        summary: 'Get what a sign-in form should offer',
        security: [],
        response: { 200: SettingsAnswer, ...errorAnswers() },
      },
    },
    async () => settings,
  )
}

function viewSettings(config: AuthConfig): z.output<typeof SettingsAnswer> {
  const { external, signup, mail, sms, webauthn, compatibility } = config
  const providers = Object.fromEntries([...external.providers].map(([name, { enabled }]) => [name, enabled]))
  const common = {
    disable_signup: signup.disabled,
    mailer_autoconfirm: mail.autoconfirm,
    phone_autoconfirm: sms.autoconfirm,
    sms_provider: sms.provider ?? '',
    saml_enabled: false,
    passkeys_enabled: webauthn.passkeysEnabled,
  }
  if (!compatibility.showUpstreamSettings) {
    return {
      external: providers,
      ...common,
      autoconfirm: mail.autoconfirm,
      email_enabled: signup.emailEnabled,
      phone_enabled: signup.phoneEnabled,
      anonymous_users_enabled: signup.anonymousEnabled,
    }
  }
  return {
    external: {
      ...Object.fromEntries(OTHER_PROVIDERS.map((name) => [name, false])),
      ...providers,
      email: signup.emailEnabled,
      phone: signup.phoneEnabled,
      anonymous_users: signup.anonymousEnabled,
    },
    ...common,
    saml_private_key_next_configured: false,
  }
}
