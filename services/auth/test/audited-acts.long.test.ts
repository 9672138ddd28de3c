import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keysCommand } from '../src/commands/keys.ts'
import { type AuditWorld, newEmail, openAuditWorld } from './audit-world.ts'
import { AUDITED_CHANGES, AUDITED_COMMANDS } from './audited-operators.ts'
import { AUDITED_ROUTES, type AuditedRequest } from './audited-routes.ts'
import { operatorEndpoints } from './operator-endpoints.ts'
import { operate } from './operators.ts'
import { runUsers } from './run-users.ts'

let world: AuditWorld
beforeAll(async () => {
  world = await openAuditWorld()
})
afterAll(() => world.close())

/** Waits for all earlier work and then runs `act`. @returns its audit entries in alphabetical order */
async function entriesOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const { service } = world
  await service.idle()
  await service.deps.db.deleteFrom('audit_log_entries').execute()
  await act()
  await service.idle()
  const rows = await service.deps.db.selectFrom('audit_log_entries').select('action').orderBy('id').execute()
  return rows.map(({ action }) => action).sort()
}

/** Whether a URL belongs to a route, such as `/users/{userId}`. */
function isOf(route: string, { method = 'GET', url }: { method?: string; url?: unknown }): boolean {
  const pattern = route.replaceAll(/[.?]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/?]+')
  return new RegExp(`^${pattern}(\\?.*)?$`).test(`${method} ${url}`)
}

const requests = Object.entries(AUDITED_ROUTES).flatMap(([route, acts]) =>
  acts.map((act, index): [string, number, AuditedRequest] => [route, index + 1, act]),
)

describe('a request', () => {
  it.each(requests)('writes its entries alone: %s (%i)', async (route, _index, { ask, entries, by }) => {
    const request = await ask(world)
    expect(isOf(route, request)).toBe(true)
    const { app } = by === 'hooked' ? world.hooked : world.service
    expect(await entriesOf(() => app.inject(request))).toEqual([...entries].sort())
  })
})

describe('a change of an operator', () => {
  it('every endpoint that changes something is tried', () => {
    const changing = operatorEndpoints.filter(({ name }) => !name.startsWith('get '))
    expect(changing.map(({ name }) => name).sort()).toEqual(Object.keys(AUDITED_CHANGES).sort())
  })

  it.each(Object.entries(AUDITED_CHANGES))('writes its entries alone: %s', async (name, { entries, of }) => {
    const [verb = '', path = ''] = name.split(' ')
    const method = (['POST', 'PUT', 'DELETE'] as const).find((known) => known.toLowerCase() === verb) ?? 'POST'
    const { action = '', body } = operatorEndpoints.find((known) => known.name === name) ?? {}
    const rest = await of(world)
    const url = `/${[path.split('/')[2], rest].filter((part) => part !== '').join('/')}` as const
    expect(isOf(`${method} ${path}`, { method, url: `/operator${url}` })).toBe(true)
    const written = await entriesOf(() => operate(world.service, world.operator, `${method} ${url}`, body))
    expect(written).toEqual([...entries, `operator.${action}`].sort())
  })
})

/** Runs a command. Commands of `users` get the line of a user as their input. */
async function runCommand(words: readonly string[]): Promise<unknown> {
  const { service } = world
  if (words[0] === 'users') return runUsers(service, words.slice(1), JSON.stringify({ email: newEmail() }))
  const open = async () => ({ ...service.deps, close: async () => {} })
  const keys = keysCommand({ open, print: () => {} }, async () => {})
  return new Command().exitOverride().addCommand(keys).parseAsync(words, { from: 'user' })
}

describe('a command', () => {
  it.each(Object.entries(AUDITED_COMMANDS))('writes its entries alone: %s', async (name, { entries, of }) => {
    const words = `${name} ${await of(world)}`.trim().split(' ')
    expect(await entriesOf(() => runCommand(words))).toEqual([...entries].sort())
  })
})
