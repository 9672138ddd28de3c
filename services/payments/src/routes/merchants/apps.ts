import { z } from 'zod'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { AppMemberView, viewAppMember } from '../../members/member.ts'
import { listAppMembers } from '../../members/member-repository.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { id, ListQuery, pathId } from '../../requests/fields.ts'
import { addApp } from '../../use-cases/add-app.ts'
import { revokeMember } from '../../use-cases/revoke-member.ts'

const MerchantParams = z.object({ merchantId: pathId() })
const AppParams = z.object({ merchantId: pathId(), appId: pathId() })

const revokeSchema = {
  operationId: 'revokeApp',
  tags: ['Access'],
  summary: 'Revoke the access of an app to a merchant',
  params: AppParams,
  response: { 204: z.undefined().describe('Revoked'), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
}

/** Lists, adds and removes apps of a merchant. All apps have the same rights (reference: Apps of a merchant). */
export const merchantAppsRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/apps',
    {
      schema: {
        operationId: 'listApps',
        tags: ['Access'],
        summary: 'List the apps of a merchant',
        params: MerchantParams,
        querystring: ListQuery,
        response: { 200: z.array(AppMemberView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }) => {
      const query = valuesOrNull(input)
      const { order, ...bounds } = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listAppMembers(app.deps.pools, { ...caller, merchantId, test, ...bounds }, order)
      return requireAccess(caller, result, input).apps.map(viewAppMember)
    },
  )
  app.post(
    '/merchants/:merchantId/apps',
    {
      schema: {
        operationId: 'addApp',
        tags: ['Access'],
        summary: 'Add an app to a merchant',
        params: MerchantParams,
        body: z.object({ appId: id() }),
        response: {
          201: z.object({ app: AppMemberView.pick({ id: true, name: true }) }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { merchantId }, body: input }, reply) => {
      const { app: added, replayed } = await addApp(app.deps, { caller, merchantId, input })
      answerCreated(reply, { replayed })
      return { app: { id: added.id, ...(added.name === null ? {} : { name: added.name }) } }
    },
  )
  app.delete(
    '/merchants/:merchantId/apps/:appId',
    {
      schema: revokeSchema,
    },
    async ({ caller, input, params: { merchantId, appId } }, reply) => {
      await revokeMember(app.deps, { caller, merchantId, noun: 'app', memberId: appId, input })
      return reply.code(204).send()
    },
  )
}
