import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from '../../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../../test/inventory-app.ts'
import { actorOf, operatorHeaders, testOperators } from '../../../test/operators.ts'

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})

const me = async (headers: Record<string, string>, { app }: Pick<TestReplica, 'app'> = guarded) => {
  const answer = await app.inject({ url: '/operator/me', headers })
  return [answer.statusCode, answer.json()]
}
const shown = (key: string, role: string, actor: object) => [
  200,
  { statusCode: 200, data: { operator: { key, role, actor } } },
]
const UNAUTHORIZED = [
  401,
  refusedBody(401, 'OPERATOR_UNAUTHORIZED', 'The operator key or the access token is missing, malformed or not good.'),
]

describe('GET /operator/me', () => {
  it.each(OPERATOR_ROLES)('200: tells an operator with the role %s who they are', async (role) => {
    expect(await me(operatorHeaders(role))).toEqual(shown(`desk-${role}`, role, actorOf(role)))
  })

  it('200: the lower role of key and user counts', async () => {
    expect(await me(operatorHeaders('support', 'admin'))).toEqual(shown('desk-support', 'support', actorOf('admin')))
    expect(await me(operatorHeaders('admin', 'viewer'))).toEqual(shown('desk-admin', 'viewer', actorOf('viewer')))
  })

  const { 'x-trestle-operator-key': key = '', authorization = '' } = operatorHeaders('admin')
  it.each<[string, Record<string, string>]>([
    ['a key without a token', { 'x-trestle-operator-key': key }],
    ['a token without a key', { authorization }],
    ['an unknown key', { authorization, 'x-trestle-operator-key': `${key}-` }],
    ['the token of a user without a role', { 'x-trestle-operator-key': key, authorization: 'Bearer nobody' }],
  ])('401: refuses %s, and never says which is wrong', async (_case, headers) => {
    expect(await me(headers)).toEqual(UNAUTHORIZED)
  })

  it('404: is unknown where the service has no operator keys', async () => {
    expect(await me(operatorHeaders('admin'), inventory)).toEqual([
      404,
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist.'),
    ])
  })
})
