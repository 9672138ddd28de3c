import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { rotateWebhookSecret } from '../../../use-cases/rotate-webhook-secret.ts'
import { viewWebhookSecret, WebhookSecretView } from '../../../webhooks/webhook-view.ts'

/** Replaces the secret that signs deliveries to a webhook (reference: Webhooks). */
export const webhookSecretsRoutes: Routes = async (app) => {
  app.post(
    '/merchants/:merchantId/webhooks/:webhookId/secrets',
    {
      schema: {
        operationId: 'rotateWebhookSecret',
        tags: ['Webhooks'],
        summary: 'Rotate the secret of a webhook',
        description: 'The previous secret signs for another 24 hours.',
        params: z.object({ merchantId: pathId(), webhookId: pathId() }),
        response: {
          201: z.object({ webhook: WebhookSecretView }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, input, params }, reply) => {
      const { webhook, secret, replayed } = await rotateWebhookSecret(app.deps, { caller, input, ...params })
      answerCreated(reply, { replayed })
      return { webhook: viewWebhookSecret(webhook, secret) }
    },
  )
}
