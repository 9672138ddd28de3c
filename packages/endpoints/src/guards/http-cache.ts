import type { Guard } from './guard.ts'

/** Lets clients keep the answer for some seconds. */
export function httpCache(seconds: number): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', `max-age=${seconds}`)
  }
}

/** Lets nobody keep the answer, an error included. */
export function noHttpCache(): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', 'no-cache, no-store, must-revalidate')
    response.headers.set('pragma', 'no-cache')
    response.headers.set('expires', '0')
  }
}
