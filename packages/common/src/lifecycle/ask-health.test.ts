import { describe, expect, it } from 'vitest'
import { askHealth } from './ask-health.ts'

describe('askHealth', () => {
  it.each([
    ['what answers', () => Promise.resolve(), 'ok'],
    ['what rejects', () => Promise.reject(new Error('refused')), 'does not answer'],
    ['what never answers', () => new Promise(() => {}), 'does not answer'],
  ])('tells of %s whether it works, in time', async (_what, ask, expected) => {
    expect(await askHealth(ask, 'does not answer', 5)).toBe(expected)
  })
})
