import { z } from 'zod'
import { CreatedAppView, viewCreatedApp } from '../apps/app.ts'
import { errorAnswers } from '../error-body.ts'
import { registrationClosed, registrationInvited } from '../errors.ts'
import { limitEffects, refuseBeyond } from '../plugins/limit-effects.ts'
import { type Routes, requireValues } from '../plugins/read-request.ts'
import { name, text } from '../requests/fields.ts'
import { registerApp } from '../use-cases/register-app.ts'

const CODE_LENGTH_MAX = 255

/** `code` is used only if registration is by invitation. */
const AppBody = z.object({ name: name().optional(), code: text().max(CODE_LENGTH_MAX).optional() })

const REFUSED: ReadonlySet<unknown> = new Set([registrationClosed.code, registrationInvited.code])

/** Creates an app. Needs no credentials, and ignores them (reference: Registration). */
export const appsRoutes: Routes = async (app) => {
  const { apps, failures } = app.deps.rateLimits
  const limits = limitEffects(app, 'apps')
  const guesses = limitEffects(app, 'failure')
  const refuseFailure = refuseBeyond(app, 'failure', failures)
  /** Counts a refused registration as a guess of a code. It does not count as a new app of the address. */
  const countRefusal = async (error: unknown, ip: string): Promise<never> => {
    if (error instanceof Error && 'code' in error && REFUSED.has(error.code)) await refuseFailure(ip)
    throw error
  }
  app.post(
    '/apps',
    {
      onRequest: async ({ ip }) => {
        await limits.requireLeft([{ limit: apps, key: ip }])
        // Beyond the limit the service does not check codes, so a correct guess does not help an attacker.
        if (app.deps.config.registration !== 'open') await guesses.requireLeft([{ limit: failures, key: ip }])
      },
      schema: {
        operationId: 'createApp',
        tags: ['Access'],
        summary: 'Create an app and its secret key',
        description: 'Where registration is by invitation, `code` is one that the operator has given out.',
        security: [],
        body: AppBody,
        bodyRequired: false,
        response: { 201: z.object({ app: CreatedAppView }), ...errorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async ({ ip, body: input }, reply) => {
      const body = requireValues(input)
      const register = () => registerApp(app.deps, body)
      const created = limits.count([{ limit: apps, key: ip }], register, () => true)
      const view = viewCreatedApp(await created.catch((error) => countRefusal(error, ip)))
      reply.code(201)
      return { app: view }
    },
  )
}
