import { randomUUID } from 'node:crypto'
import { mayDo, OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from './auth-app.ts'
import { operations, request } from './error-model/shared-errors.ts'
import { operatorEndpoints } from './operator-endpoints.ts'
import { createOperator, keyOf, OPERATOR_SETTINGS, type SignedInOperator } from './operators.ts'

let test: TestApp
const operators = new Map<string, SignedInOperator>()
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  for (const role of OPERATOR_ROLES) operators.set(role, await createOperator(test, role))
})
afterAll(() => test.close())

const ofOperators = operations.filter(({ path }) => path.startsWith('/operator/'))

it('the table of endpoints has those of the API document', () => {
  expect(operatorEndpoints.map(({ name }) => name).sort()).toEqual(ofOperators.map(({ name }) => name).sort())
})

const cases = operatorEndpoints.flatMap((endpoint) => OPERATOR_ROLES.map((role) => ({ ...endpoint, role })))

// Another test compares the table of actions with the console reference.
describe.each(cases)('$name with the role $role', ({ name, body, action, role }) => {
  /** Sends the request with one role's key and another role's user. Returns the refusal's status, action and role. */
  const refusalOf = async (key: string, actor: string) => {
    const operation = ofOperators.find((known) => known.name === name)
    if (operation === undefined) throw new Error(`no ${name}`)
    const headers = {
      ...operators.get(actor)?.credentials,
      'x-trestle-operator-key': keyOf(OPERATOR_ROLES.find((known) => known === key) ?? 'viewer'),
      'idempotency-key': randomUUID(),
    }
    const asked = request(operation, headers)
    const answer = await test.app.inject(body === undefined ? asked : { ...asked, payload: body })
    // The objects in the paths do not exist, so a permitted request finds nothing.
    return answer.statusCode === 403 ? [403, answer.json().action, answer.json().role] : undefined
  }
  const expected = mayDo(role, action) ? undefined : [403, action, role]

  it('is refused where the table of actions asks for a higher role than that of its key', async () => {
    expect(await refusalOf(role, role)).toEqual(expected)
  })

  it('is refused also when the user is an admin, because the key limits what its console may do', async () => {
    expect(await refusalOf(role, 'admin')).toEqual(expected)
  })

  it('is refused also by the key of an admin, because the role of the user limits what they may do', async () => {
    expect(await refusalOf('admin', role)).toEqual(expected)
  })
})
