import { z } from 'zod'
import { nullIfRefused, requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { FIELD_TEXTS } from '../../field-errors.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId, text } from '../../requests/fields.ts'
import { createWebhook } from '../../use-cases/create-webhook.ts'
import { EVENT_TYPES, isEventType } from '../../webhooks/event.ts'
import { isWebhookUrl, toWebhookUrl, WEBHOOK_URL_PATTERN } from '../../webhooks/webhook.ts'
import { callDeleteWebhook, listWebhooks } from '../../webhooks/webhook-repository.ts'
import {
  SIGNATURE,
  viewWebhook,
  viewWebhookSecret,
  WebhookSecretView,
  WebhookView,
} from '../../webhooks/webhook-view.ts'

const MerchantParams = z.object({ merchantId: pathId() })
const WebhookParams = z.object({ merchantId: pathId(), webhookId: pathId() })

const url = text()
  .trim()
  .overwrite(toWebhookUrl)
  .max(2048)
  .refine(isWebhookUrl, { error: FIELD_TEXTS.notWebhookUrl })
  .meta({
    pattern: WEBHOOK_URL_PATTERN,
    description:
      'https on port 443, 8443 or above 1023, without credentials. http, on a port above 1023, is for test merchants where PAYMENTS_WEBHOOK_ALLOW_HTTP is set, as `npm start` does. Addresses inside a network, such as localhost, are refused unless PAYMENTS_WEBHOOK_ALLOWED_HOSTS names them; `npm start` names those of this machine.',
    examples: ['https://shop.example.com/hook', 'http://localhost:3000/hook'],
  })
const eventType = z
  .string()
  .refine(isEventType, { error: FIELD_TEXTS.notEventType, params: { code: 'UNKNOWN' } })
  .meta({ enum: [...EVENT_TYPES] })
  .pipe(z.enum(EVENT_TYPES))
const events = z.array(eventType).max(EVENT_TYPES.length).default([])
const WebhookBody = z.object({ url, events: events.describe('The types to send. None, or an empty list: all') })
const CreatedWebhook = z.object({ webhook: WebhookSecretView })

/** Lists, creates and deletes webhooks of a merchant (reference: Webhooks). */
export const merchantWebhooksRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/webhooks',
    {
      schema: {
        operationId: 'listWebhooks',
        tags: ['Webhooks'],
        summary: 'List the webhooks of a merchant',
        params: MerchantParams,
        querystring: ListQuery,
        response: { 200: z.array(WebhookView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }) => {
      const query = valuesOrNull(input)
      const page = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listWebhooks(app.deps.pools, { ...caller, merchantId, test, ...page })
      return requireAccess(caller, result, input).webhooks.map(viewWebhook)
    },
  )
  app.post(
    '/merchants/:merchantId/webhooks',
    {
      schema: {
        operationId: 'createWebhook',
        tags: ['Webhooks'],
        summary: 'Create a webhook',
        description: `No other answer shows the secret. ${SIGNATURE}`,
        params: MerchantParams,
        body: WebhookBody,
        response: { 201: CreatedWebhook, ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, params: { merchantId }, body: input }, reply) => {
      const { webhook, secret, replayed } = await createWebhook(app.deps, { caller, merchantId, input })
      answerCreated(reply, { replayed })
      return { webhook: viewWebhookSecret(webhook, secret) }
    },
  )
  app.delete(
    '/merchants/:merchantId/webhooks/:webhookId',
    {
      schema: {
        operationId: 'deleteWebhook',
        tags: ['Webhooks'],
        summary: 'Delete a webhook',
        params: WebhookParams,
        response: { 204: z.undefined().describe('Deleted'), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, input, params: { merchantId, webhookId } }, reply) => {
      const webhook = { caller, merchantId, webhookId: nullIfRefused(input, webhookId) }
      requireAccess(caller, await callDeleteWebhook(app.deps.pools, webhook), input)
      return reply.code(204).send()
    },
  )
}
