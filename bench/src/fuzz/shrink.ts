import { countValues, replaceAt } from './places.ts'
import type { WireRequest } from './wire.ts'

const ATTEMPTS_MAX = 60

/** The smallest request by leaving things out that still has the same fault. @param isFaulty sends it and judges */
export async function shrink(
  start: WireRequest,
  isFaulty: (request: WireRequest) => Promise<boolean>,
): Promise<WireRequest> {
  let smallest = start
  let attempts = 0
  for (let at = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const smaller = smallerRequests(smallest)[at]
    if (smaller === undefined) break
    if (await isFaulty(smaller)) {
      smallest = smaller
      at = 0
    } else at += 1
  }
  return smallest
}

/** The request without one of its headers, its parameters, its members, or its body. */
function smallerRequests(request: WireRequest): readonly WireRequest[] {
  const [path = '', query] = request.target.split('?')
  const pairs = query?.split('&') ?? []
  const body = parse(request.body)
  return [
    ...(request.body === undefined ? [] : [{ ...request, body: undefined }]),
    ...pairs.map((_, at) => ({ ...request, target: toTarget(path, without(pairs, at)) })),
    ...request.headers.map((_, at) => ({ ...request, headers: without(request.headers, at) })),
    ...Array.from({ length: Math.min(countValues(body), ATTEMPTS_MAX) }, (_, at) => ({
      ...request,
      body: Buffer.from(JSON.stringify(replaceAt(body, at, () => undefined))),
    })),
  ]
}

function without<T>(items: readonly T[], at: number): readonly T[] {
  return items.filter((_, index) => index !== at)
}

function toTarget(path: string, pairs: readonly string[]): string {
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

/** What a body says in JSON; undefined when it is none, and can only be left out as a whole. */
function parse(body: Buffer | undefined): unknown {
  try {
    return JSON.parse(body?.toString() ?? '')
  } catch {
    return undefined
  }
}
