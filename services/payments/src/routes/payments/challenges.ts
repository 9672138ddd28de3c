import { z } from 'zod'
import { STEPS } from '../../checkout/authentication.ts'
import { ChallengeTaskView } from '../../checkout/challenge.ts'
import { PaymentBody } from '../../checkout/payment-body.ts'
import { checkoutErrors } from '../../error-body.ts'
import { preferredPageLocale } from '../../pages/locale.ts'
import { toOrderRequest } from '../../plugins/checkout.ts'
import { type Routes, requireEndpoint } from '../../plugins/read-request.ts'
import { pathText } from '../../requests/fields.ts'
import { takeChallenge } from '../../use-cases/take-challenge.ts'

const step = pathText().meta({ enum: [...STEPS] })
const StepParams = z.object({ step })
/** The ways to take a challenge that have a name in the path. A challenge in a frame has no such name. */
const WAYS = ['redirect', 'poll'] as const
/** The steps that can be taken in these ways. */
const ASKED_STEPS = ['tds-challenge'] as const
const WayParams = z.object({
  step: pathText().meta({ enum: [...ASKED_STEPS] }),
  way: pathText().meta({ enum: [...WAYS] }),
})

/** Serves the steps of a payment. The client posts its order to the path of a challenge (reference: Challenges). */
export const challengesRoutes: Routes = async (app) => {
  app.post(
    '/payments/challenges/:step',
    {
      // Refuse an unknown path before the body is validated.
      preValidation: async ({ params: { step } }) => void oneOf(STEPS, step),
      schema: {
        operationId: 'takeChallenge',
        tags: ['Checkout'],
        summary: 'Take a challenge of a payment',
        security: [],
        params: StepParams,
        body: PaymentBody,
        response: { 200: ChallengeTaskView, ...checkoutErrors(404, 409) },
      },
    },
    async (request) => {
      const step = oneOf(STEPS, request.params.step)
      return takeChallenge(app.deps, { ...toOrderRequest(request), step, way: 'iframe', ...pageOf(request.headers) })
    },
  )
  app.post(
    '/payments/challenges/:step/:way',
    {
      preValidation: async ({ params: { step, way } }) => void [oneOf(ASKED_STEPS, step), oneOf(WAYS, way)],
      schema: {
        operationId: 'takeChallengeAnotherWay',
        tags: ['Checkout'],
        summary: 'Take the challenge of a payment by a redirect or by polling',
        security: [],
        params: WayParams,
        body: PaymentBody,
        response: { 200: ChallengeTaskView, ...checkoutErrors(404, 409) },
      },
    },
    async (request) => {
      const [step, way] = [oneOf(ASKED_STEPS, request.params.step), oneOf(WAYS, request.params.way)]
      return takeChallenge(app.deps, { ...toOrderRequest(request), step, way, ...pageOf(request.headers) })
    },
  )
}

function oneOf<const Name extends string>(names: readonly Name[], name: string): Name {
  return requireEndpoint(names.find((candidate) => candidate === name))
}

/** Returns the origin and the locale of the calling page, as the headers state them. */
function pageOf(headers: { readonly origin?: string | undefined; readonly 'accept-language'?: string | undefined }) {
  return { origin: originOf(headers), locale: preferredPageLocale(headers['accept-language'])?.tag }
}

/** Returns the origin of the calling page, or `undefined` if the browser sent no valid origin. */
function originOf({ origin }: { readonly origin?: string | undefined }): string | undefined {
  return origin !== undefined && URL.parse(origin)?.origin === origin && /^https?:/.test(origin) ? origin : undefined
}
