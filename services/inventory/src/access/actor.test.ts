import { describe, expect, it } from 'vitest'
import { parseRoleScopes, scopesOf } from './actor.ts'

const rules = {
  adminRoles: ['service_role'],
  roleScopes: parseRoleScopes('authenticated=inventory:read, clerk=inventory:read+inventory:write') ?? new Map(),
}
const [READ, WRITE] = ['inventory:read', 'inventory:write']

describe('scopesOf', () => {
  it.each<[object, string[]]>([
    [{}, []],
    [{ scope: 'openid inventory:write' }, [WRITE]],
    [{ scope: 'inventory:read inventory:write' }, [READ, WRITE]],
    [{ scope: 'inventory:readx' }, []],
    [{ scope: ['inventory:read'] }, []],
    [{ app_metadata: { scopes: ['inventory:read', 'x'] } }, [READ]],
    [{ app_metadata: { scopes: 'inventory:read' } }, []],
    [{ app_metadata: null }, []],
    [{ user_metadata: { scopes: ['inventory:write'] } }, []],
    [{ role: 'service_role' }, [READ, WRITE]],
    [{ role: ['service_role'] }, []],
    [{ role: 'service_role', is_anonymous: true }, []],
    [{ role: 'service_role', is_anonymous: 'false' }, []],
    [{ role: 'service_role', is_anonymous: true, scope: 'inventory:read' }, [READ]],
    [{ role: 'authenticated' }, [READ]],
    [{ role: 'authenticated', is_anonymous: false }, [READ]],
    [{ role: 'authenticated', is_anonymous: true }, []],
    [{ role: 'authenticated', is_anonymous: 'no' }, []],
    [{ role: 'clerk' }, [READ, WRITE]],
    [{ role: 'constructor' }, []],
  ])('gives the claims %j the scopes %j', (claims, scopes) => {
    expect([...scopesOf(claims, rules)]).toEqual(scopes)
  })
})

it.each([
  ...['authenticated', 'a=', '=inventory:read', 'a=inventory:all', 'a=inventory:read=x', 'a=inventory:read+x', ''],
  'a=inventory:read,a=inventory:write',
  'a=inventory:read, a=inventory:read',
])('refuses %j as a setting of role scopes', (text) => {
  expect(parseRoleScopes(text)).toBeUndefined()
})
