import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, expectBody, invalidBody, refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { stockRequests } from '../../test/stock-requests.ts'

let inventory: TestInventory
let requests: ReturnType<typeof stockRequests>
beforeAll(async () => {
  inventory = await startInventory()
  requests = stockRequests(inventory)
})
afterAll(() => inventory.close())

const get = (url: string) => requests.get(url)
const post = (body: object | string, headers = {}) => requests.send('POST', '/locations', body, headers)
type Answer = Awaited<ReturnType<TestInventory['app']['inject']>>
const MAIN = { id: 1, code: 'MAIN', name: 'Main warehouse', active: true }
const absent = refusedBody(404, 'RESOURCE_NOT_FOUND', 'The location you requested does not exist.')
const taken = refusedBody(409, 'CONFLICT', 'A location with this code already exists.')

describe('GET /locations', () => {
  let fresh: TestInventory
  beforeEach(async () => {
    fresh = await startInventory()
  })
  afterEach(() => fresh.close())

  it('200: lists the location that the migrations add', async () => {
    const response = await fresh.app.inject('/locations')
    expect(envelopeOf(response)).toEqual({ statusCode: 200, data: [MAIN] })
    expect([response.headers.link, response.headers['cache-control']]).toEqual([
      '</locations>; rel="first"',
      'no-store',
    ])
  })

  it('200: finds a location by its code, and none by another one', async () => {
    const found = async (query: string) => expectBody(200, await fresh.app.inject(`/locations?${query}`)).data
    expect([await found('code=MAIN'), await found('code=main'), await found('limit=1&code=NOPE')]).toEqual([
      [MAIN],
      [],
      [],
    ])
  })

  it('200: lists pages by id', async () => {
    const { addLocation } = stockRequests(fresh)
    const ids = [1, await addLocation(), await addLocation()]
    const seen: number[] = []
    for (let url: string | undefined = '/locations?limit=2'; url; ) {
      const answer: Answer = await fresh.app.inject(url)
      seen.push(...expectBody(200, answer).data.map(({ id }: { id: number }) => id))
      url = /<([^>]+)>; rel="next"/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual(ids)
  })

  it.each<[string, string, string]>([
    ['limit=0', 'limit', 'must be at least 1'],
    ['cursor=x', 'cursor', 'must come from the Link header of a page of this list'],
    ['code=', 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    ['name=x', 'name', 'is not known here'],
  ])('400: refuses ?%s', async (query, path, message) => {
    expect(envelopeOf(await get(`/locations?${query}`))).toEqual(invalidBody(path, message))
  })
})

describe('POST /locations', () => {
  it('201: creates a location, and confirms with its id', async () => {
    const response = await post({ code: 'SHOP.1_a-b', name: 'Laden in Zürich', active: false })
    const { id } = response.json().data
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ statusCode: 201, data: { id, message: `Location ${id} was created.` } })
    expect(response.headers.location).toBe(`/locations/${id}`)
    expect((await get(`/locations/${id}`)).json()).toEqual({
      statusCode: 200,
      data: { id, code: 'SHOP.1_a-b', name: 'Laden in Zürich', active: false },
    })
  })

  it('201: makes the location of a form', async () => {
    const response = await inventory.app.inject({
      method: 'POST',
      url: '/locations',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'code=FORM&name=A+form&active=no',
    })
    const { id } = expectBody(201, response).data
    expect(envelopeOf(await get(`/locations/${id}`))).toEqual({
      statusCode: 200,
      data: { id, code: 'FORM', name: 'A form', active: false },
    })
  })

  it('409: refuses a taken code: of many parallel requests one creates it', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post({ code: 'RACE', name: 'x' })))
    const refused = answers.filter(({ statusCode }) => statusCode !== 201)
    expect(refused).toHaveLength(49)
    for (const answer of refused) expect([answer.statusCode, answer.json()]).toEqual([409, taken])
  })

  it('201: creates once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'new-location' }
    const first = await post({ code: 'ONCE', name: 'x' }, key)
    const again = await post({ name: 'x', code: 'ONCE' }, key)
    expect([again.statusCode, again.body, again.headers.location]).toEqual([201, first.body, first.headers.location])
    expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([undefined, 'true'])
  })

  it('422: refuses the Idempotency-Key of another location', async () => {
    const key = { 'idempotency-key': 'other-location' }
    await post({ code: 'KEYED', name: 'x' }, key)
    expect(envelopeOf(await post({ code: 'OTHER', name: 'x' }, key))).toEqual(
      refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.'),
    )
  })

  it.each<[object, string, string]>([
    [{ name: 'x' }, 'code', 'is required'],
    [{ code: 'A' }, 'name', 'is required'],
    [{ code: '', name: 'x' }, 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [{ code: 'A B', name: 'x' }, 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [{ code: 'Ä', name: 'x' }, 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [{ code: 'A\n', name: 'x' }, 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [{ code: 'A'.repeat(65), name: 'x' }, 'code', 'must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [{ code: 7, name: 'x' }, 'code', 'must be a string'],
    [{ code: 'A', name: '' }, 'name', 'must not be empty'],
    [{ code: 'A', name: 'x'.repeat(256) }, 'name', 'must have at most 255 characters'],
    [{ code: 'A', name: 'a\0' }, 'name', 'must not hold U+0000 or half a surrogate pair'],
    [{ code: 'A', name: 'x', active: 'perhaps' }, 'active', 'must be true or false'],
    [{ code: 'A', name: 'x', id: 7 }, 'id', 'is not known here'],
  ])('400: refuses %j, path "%s"', async (body, path, message) => {
    const response = await post(body)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({
      statusCode: 400,
      error: { type: 'VALIDATION_ERROR', description: `${path}: ${message}`, issues: [{ path, message }] },
    })
  })

  it.each(['a b', '', 'x'.repeat(256), 'ä'])('400: refuses the key "%s"', async (key) => {
    const response = await post({ code: 'K', name: 'x' }, { 'idempotency-key': Buffer.from(key).toString('latin1') })
    expect(envelopeOf(response)).toEqual(invalidBody('Idempotency-Key', 'must be 1 to 255 visible characters of ASCII'))
  })
})

describe('GET /locations/:locationId', () => {
  it('200: shows every member of a location', async () => {
    expect(envelopeOf(await get('/locations/1'))).toEqual({ statusCode: 200, data: MAIN })
  })

  it('404: refuses an unknown id', async () => {
    const response = await get('/locations/9007199254740991')
    expect([response.statusCode, response.json()]).toEqual([404, absent])
  })

  it.each<[string, string]>([
    ['0', 'must be at least 1'],
    ['01', 'must be a whole number'],
    ['abc', 'must be a whole number'],
    ['9007199254740992', 'must be at most 9007199254740991'],
  ])('400: refuses the id %s', async (id, message) => {
    expect(envelopeOf(await get(`/locations/${id}`))).toEqual(invalidBody('locationId', message))
  })
})

describe('PATCH /locations/:locationId', () => {
  const patch = (id: number, body: object) => requests.send('PATCH', `/locations/${id}`, body)

  it('200: changes the given members and leaves the others', async () => {
    const id = await requests.addLocation()
    expect((await patch(id, { active: false })).json()).toEqual({
      statusCode: 200,
      data: { id, name: 'A shelf', active: false, code: expect.any(String) },
    })
    const response = await patch(id, { code: 'NEW', name: 'Renamed' })
    const location = { id, code: 'NEW', name: 'Renamed', active: false }
    expect([response.statusCode, response.json()]).toEqual([200, { statusCode: 200, data: location }])
  })

  it('409: refuses the code of another location', async () => {
    const response = await patch(await requests.addLocation(), { code: 'MAIN' })
    expect([response.statusCode, response.json()]).toEqual([409, taken])
  })

  it('404: refuses an unknown id', async () => {
    const response = await patch(9_007_199_254_740_991, { name: 'x' })
    expect([response.statusCode, response.json()]).toEqual([404, absent])
  })

  // ASVS 15.3.3
  it('400: refuses unknown members and invalid names', async () => {
    expect(envelopeOf(await patch(1, { deleted: true }))).toEqual(invalidBody('deleted', 'is not known here'))
    expect(envelopeOf(await patch(1, { name: null }))).toEqual(invalidBody('name', 'must be a string'))
  })

  it('400: refuses a change without members', async () => {
    expect(envelopeOf(await patch(1, {}))).toEqual({
      statusCode: 400,
      error: {
        type: 'VALIDATION_ERROR',
        description: 'The request: must have code, name or active',
        issues: [{ path: '', message: 'must have code, name or active' }],
      },
    })
  })
})

describe('the version of a location', () => {
  const tagOf = async (id: number) => String((await get(`/locations/${id}`)).headers.etag)
  const patch = (id: number, body: object, etag: string) =>
    requests.send('PATCH', `/locations/${id}`, body, { 'if-match': etag })
  const changed = refusedBody(412, 'PRECONDITION_FAILED', 'The location was changed in the meantime.')

  it('304: sends no body to a client that has the version', async () => {
    const id = await requests.addLocation()
    const first = await tagOf(id)
    const known = await requests.get(`/locations/${id}`, { 'if-none-match': first })
    expect([known.statusCode, known.body, known.headers.etag, known.headers['cache-control']]).toEqual([
      304,
      '',
      first,
      'no-cache',
    ])
  })

  it('200: grows with each change that alters something', async () => {
    const created = await post({ code: 'V.1', name: 'x' })
    const { id } = created.json().data
    const first = `"l${id}-1"`
    expect([created.headers.etag, await tagOf(id)]).toEqual([first, first])
    expect((await patch(id, { name: 'x' }, first)).headers.etag).toBe(first)
    expect((await patch(id, { name: 'y' }, first)).headers.etag).toBe(`"l${id}-2"`)
    expect(envelopeOf(await requests.get(`/locations/${id}`, { 'if-none-match': first }))).toEqual({
      statusCode: 200,
      data: { id, code: 'V.1', name: 'y', active: true },
    })
  })

  it('412: refuses all but one of many changes that are based on one version', async () => {
    const id = await requests.addLocation()
    const tag = await tagOf(id)
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => patch(id, { name: `n-${n}` }, tag)))
    const refused = answers.filter(({ statusCode }) => statusCode !== 200).map((answer) => answer.json())
    expect(refused).toEqual(Array(19).fill(changed))
    expect(envelopeOf(await patch(id, { name: 'late' }, tag))).toEqual(changed)
    expect(envelopeOf(await patch(id, { name: 'weak' }, `W/${await tagOf(id)}`))).toEqual(changed)
    const remove = (etag: string) => requests.send('DELETE', `/locations/${id}`, undefined, { 'if-match': etag })
    expect(envelopeOf(await remove(tag))).toEqual(changed)
    const removed = await remove(await tagOf(id))
    expect([removed.statusCode, removed.body]).toEqual([204, ''])
    expect(envelopeOf(await remove('*'))).toEqual(absent)
  })
})

describe('DELETE /locations/:locationId', () => {
  const remove = (id: number) => requests.send('DELETE', `/locations/${id}`)

  it('204: deletes the location, and frees its code', async () => {
    const id = await requests.addLocation()
    const { code } = (await get(`/locations/${id}`)).json().data
    const response = await remove(id)
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect((await get(`/locations/${id}`)).json()).toEqual(absent)
    expect((await remove(id)).json()).toEqual(absent)
    const made = (await post({ code, name: 'x' })).json()
    const { id: next } = made.data
    expect(made).toEqual({ statusCode: 201, data: { id: next, message: `Location ${next} was created.` } })
  })

  it('409: refuses to delete a location with stock', async () => {
    const [productId, locationId] = [await requests.addProduct(), await requests.addLocation()]
    await requests.move({ type: 'receive', productId, locationId, quantity: 1 })
    const response = await remove(locationId)
    expect([response.statusCode, response.json()]).toEqual([
      409,
      refusedBody(409, 'CONFLICT', 'The location still has stock.'),
    ])
  })
})
