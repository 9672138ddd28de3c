import { expect, it } from 'vitest'
import { findUnreached, shrink } from './fuzz-service.ts'
import { toCurl, type WireRequest } from './wire.ts'

const request: WireRequest = {
  method: 'POST',
  target: '/things?a=1&b=2&c=3',
  headers: [
    ['content-type', 'application/json'],
    ['x-odd', ''],
  ],
  body: Buffer.from('{"name":"it\'s","more":[1,{"bad":true}],"rest":{"a":1}}'),
}

it('removes everything that the fault does not need', async () => {
  const isFaulty = async ({ target, body }: WireRequest) => /b=2/.test(target) && /bad/.test(String(body))
  expect(await shrink(request, isFaulty)).toEqual({
    ...request,
    target: '/things?b=2',
    headers: [],
    body: Buffer.from('{"more":[{"bad":true}]}'),
  })
  expect(await shrink(request, async () => false)).toEqual(request)
})

it('asks for a success of every operation that documents one', () => {
  const counts = new Map([
    ['GET /things', new Map([['2xx', 1]])],
    ['POST /things', new Map([['4xx', 9]])],
    ['GET /things/new', new Map([['4xx', 9]])],
  ])
  const operations = [
    { name: 'GET /things', answers: { 200: [] } },
    { name: 'POST /things', answers: { 303: [], 400: [] } },
    { name: 'PUT /things', answers: { '2XX': [] } },
    { name: 'GET /things/new', answers: { 400: [], 404: [] } },
  ]
  expect(findUnreached(operations, counts)).toEqual(['POST /things', 'PUT /things'])
})

it('prints a command line that sends the same bytes', () => {
  expect(toCurl('http://127.0.0.1:1', { ...request, body: Buffer.from("a'\0") })).toBe(
    "curl -gi -X POST 'http://127.0.0.1:1/things?a=1&b=2&c=3' --path-as-is -H 'content-type: application/json' -H 'x-odd;' --data-binary $'a\\x27\\x00'",
  )
  expect(toCurl('http://127.0.0.1:1', { ...request, method: 'HEAD', headers: [], body: undefined })).toBe(
    "curl -gi --head 'http://127.0.0.1:1/things?a=1&b=2&c=3' --path-as-is",
  )
})
