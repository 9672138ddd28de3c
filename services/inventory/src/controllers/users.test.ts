import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { envelopeOf, invalidBody, jsonHeaders, withoutConnection } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

const SEED = [
  { id: 1, username: 'bill.gates', firstName: 'Bill', lastName: 'Gates' },
  { id: 2, username: 'steve.jobs', firstName: 'Steve', lastName: 'Jobs' },
  { id: 3, username: 'mark.zuckerberg', firstName: 'Mark', lastName: 'Zuckerberg' },
  { id: 4, username: 'evan.spiegel', firstName: 'Evan', lastName: 'Spiegel' },
  { id: 5, username: 'jack.dorsey', firstName: 'Jack', lastName: 'Dorsey' },
]

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())
const get = (url: string) => inventory.app.inject({ url })

describe('GET /users', () => {
  // ASVS 3.2.1, 3.4.4, 3.4.6, 4.1.1, 14.2.2
  it('200: lists the seeded users by id, in the list envelope', async () => {
    const response = await get('/users')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ statusCode: 200, data: SEED })
    expect(withoutConnection(response.headers)).toEqual(jsonHeaders({ link: '</users>; rel="first"' }))
  })

  it('200: lists pages by cursor', async () => {
    const first = await get('/users?limit=3')
    expect(envelopeOf(first)).toEqual({ statusCode: 200, data: SEED.slice(0, 3) })
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))?.[1] ?? ''
    const second = await get(next)
    expect(envelopeOf(second)).toEqual({ statusCode: 200, data: SEED.slice(3) })
    expect(second.headers.link).toBe('</users?limit=3>; rel="first"')
  })

  it.each<[string, string, string]>([
    ['limit=501', 'limit', 'must be at most 500'],
    ['limit=0', 'limit', 'must be at least 1'],
    ['cursor=x', 'cursor', 'must come from the Link header of a page of this list'],
    ['username=bill.gates', 'username', 'is not known here'],
  ])('400: refuses ?%s', async (query, path, message) => {
    const response = await get(`/users?${query}`)
    expect(envelopeOf(response)).toEqual(invalidBody(path, message))
  })
})

describe('GET /users/:userId', () => {
  // ASVS 15.3.1
  it('200: shows the sample user of the id', async () => {
    const response = await get('/users/5')
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: SEED[4] })
  })

  it('404: refuses an unknown id', async () => {
    const response = await get('/users/6')
    expect(response.statusCode).toBe(404)
    expect(response.json()).toEqual({
      statusCode: 404,
      error: { type: 'RESOURCE_NOT_FOUND', description: 'The user you requested does not exist.' },
    })
  })

  it.each<[string, string]>([
    ['0', 'must be at least 1'],
    ['-1', 'must be at least 1'],
    ['01', 'must be a whole number'],
    ['1.0', 'must be a whole number'],
    ['abc', 'must be a whole number'],
    ['9007199254740992', 'must be at most 9007199254740991'],
  ])('400: refuses the id %s', async (id, message) => {
    expect(envelopeOf(await get(`/users/${id}`))).toEqual(invalidBody('userId', message))
  })
})
