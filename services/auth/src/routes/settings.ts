import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PROVIDERS } from '../config/external.ts'
import { errorAnswers } from '../error-body.ts'

const SettingsAnswer = z.object({
  external: z.object(Object.fromEntries(PROVIDERS.map((provider) => [provider, z.boolean()]))),
  disable_signup: z.boolean(),
  autoconfirm: z.boolean(),
  mailer_autoconfirm: z.boolean(),
  phone_autoconfirm: z.boolean(),
  email_enabled: z.boolean(),
  phone_enabled: z.boolean(),
  anonymous_users_enabled: z.boolean(),
  sms_provider: z.string(),
  saml_enabled: z.boolean(),
  passkeys_enabled: z.boolean(),
})

/** `GET /settings`: what a sign-in form should offer. */
export const settingsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { external, signup, mail, sms, webauthn } = app.deps.config
  const settings = {
    external: Object.fromEntries([...external.providers].map(([name, { enabled }]) => [name, enabled])),
    disable_signup: signup.disabled,
    autoconfirm: mail.autoconfirm,
    mailer_autoconfirm: mail.autoconfirm,
    phone_autoconfirm: sms.autoconfirm,
    email_enabled: signup.emailEnabled,
    phone_enabled: signup.phoneEnabled,
    anonymous_users_enabled: signup.anonymousEnabled,
    sms_provider: sms.provider ?? '',
    saml_enabled: false,
    passkeys_enabled: webauthn.passkeysEnabled,
  }
  app.get(
    '/settings',
    {
      schema: {
        operationId: 'getSettings',
        tags: ['Service'],
        summary: 'Read what a sign-in form should offer',
        security: [],
        response: { 200: SettingsAnswer, ...errorAnswers() },
      },
    },
    async () => settings,
  )
}
