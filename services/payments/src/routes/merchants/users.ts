import { z } from 'zod'
import { type Caller, limitKeyOf } from '../../access/caller.ts'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { UserMemberView, viewUserMember } from '../../members/member.ts'
import { listUserMembers } from '../../members/member-repository.ts'
import { NO_PAGE, pageBounds } from '../../pagination/page-query.ts'
import { answerCreated } from '../../plugins/answers.ts'
import { type CountedEvent, limitEffects } from '../../plugins/limit-effects.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { email, ListQuery, pathId } from '../../requests/fields.ts'
import { inviteUser } from '../../use-cases/invite-user.ts'
import { revokeMember } from '../../use-cases/revoke-member.ts'

const MerchantParams = z.object({ merchantId: pathId() })
const InvitationBody = z.object({ email: email() })
const InvitedView = z.object({ isMember: z.boolean().describe('Whether the user was a member already') })
const UserParams = z.object({ merchantId: pathId(), userId: pathId() })

const revokeSchema = {
  operationId: 'revokeUser',
  tags: ['Access'],
  summary: 'Revoke a user or an invitation',
  params: UserParams,
  response: { 204: z.undefined().describe('Revoked'), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
}

/** Lists, invites and removes users of a merchant. The list includes invited users (reference: Users of a merchant). */
export const merchantUsersRoutes: Routes = async (app) => {
  const { invitations, invitationAddresses } = app.deps.rateLimits
  const limits = limitEffects(app, 'invitations')
  // Count by IP address too. Anyone can create more apps to avoid a limit per app.
  const eventsOf = ({ caller, ip }: { readonly caller: Caller; readonly ip: string }): CountedEvent[] => [
    { limit: invitationAddresses, key: ip },
    { limit: invitations, key: limitKeyOf(caller) },
  ]
  app.get(
    '/merchants/:merchantId/users',
    {
      schema: {
        operationId: 'listUsers',
        tags: ['Access'],
        summary: 'List the users of a merchant',
        params: MerchantParams,
        querystring: ListQuery,
        response: { 200: z.array(UserMemberView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }) => {
      const query = valuesOrNull(input)
      const { order, ...bounds } = pageBounds(query ?? NO_PAGE)
      const test = query?.filter?.test
      const result = await listUserMembers(app.deps.pools, { ...caller, merchantId, test, ...bounds }, order)
      return requireAccess(caller, result, input).users.map(viewUserMember)
    },
  )
  app.post(
    '/merchants/:merchantId/users',
    {
      schema: {
        operationId: 'inviteUser',
        tags: ['Access'],
        summary: 'Invite a user by email address',
        params: MerchantParams,
        body: InvitationBody,
        response: { 201: InvitedView, ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, ip, params: { merchantId }, body: input }, reply) => {
      const { isMember, replayed } = await inviteUser(app.deps, { caller, merchantId, input }, (invite) =>
        limits.count(eventsOf({ caller, ip }), invite, ({ mailed }) => mailed),
      )
      answerCreated(reply, { replayed })
      return { isMember }
    },
  )
  app.delete(
    '/merchants/:merchantId/users/:userId',
    {
      schema: revokeSchema,
    },
    async ({ caller, input, params: { merchantId, userId } }, reply) => {
      await revokeMember(app.deps, { caller, merchantId, noun: 'user', memberId: userId, input })
      return reply.code(204).send()
    },
  )
}
