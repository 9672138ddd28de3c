import { z } from 'zod'
import { keyMacOf, requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { AppKeyView, CreatedKeyView, viewAppKey } from '../../apps/app.ts'
import { listKeys } from '../../apps/app-key-repository.ts'
import { readBasicKey } from '../../apps/presented-key.ts'
import { errorAnswers } from '../../error-body.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId } from '../../requests/fields.ts'
import { createKey } from '../../use-cases/create-key.ts'
import { revokeKey } from '../../use-cases/revoke-key.ts'

/**
 * Lists, creates and revokes keys of the calling app. Several keys can be active at the same time, so an app can replace a key
 * without an outage (reference: Keys of an app).
 */
export const keysRoutes: Routes = async (app) => {
  app.get(
    '/me/keys',
    {
      schema: {
        operationId: 'listKeys',
        tags: ['Access'],
        summary: 'List the active keys of the calling app',
        querystring: ListQuery,
        response: { 200: z.array(AppKeyView), ...errorAnswers(400, 401, 403) },
      },
    },
    async ({ caller, query: input }) => {
      const { order, ...bounds } = pageBounds(valuesOrNull(input) ?? NO_PAGE)
      const result = await listKeys(app.deps.pools, { keyMac: keyMacOf(caller), ...bounds }, order)
      return requireAccess(caller, result, input).keys.map(viewAppKey)
    },
  )
  app.post(
    '/me/keys',
    {
      schema: {
        operationId: 'createKey',
        tags: ['Access'],
        summary: 'Create a key of the calling app',
        response: { 201: z.object({ key: CreatedKeyView }), ...errorAnswers(400, 401, 403, 409, 413, 415) },
      },
    },
    async ({ caller, input, headers: { authorization } }, reply) => {
      const callerKey = readBasicKey(authorization)
      const { id, key, created, replayed } = await createKey(app.deps, { caller, callerKey, input })
      answerCreated(reply, { replayed })
      return { key: { id, key, created: created.toISOString() } }
    },
  )
  app.delete(
    '/me/keys/:keyId',
    {
      schema: {
        operationId: 'revokeKey',
        tags: ['Access'],
        summary: 'Revoke a key of the calling app',
        params: z.object({ keyId: pathId() }),
        response: { 204: z.undefined().describe('Revoked'), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, input, params: { keyId } }, reply) => {
      await revokeKey(app.deps, { caller, keyId, input })
      return reply.code(204).send()
    },
  )
}
