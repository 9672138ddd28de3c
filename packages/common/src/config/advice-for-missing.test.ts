import { expect, it } from 'vitest'
import { adviceForMissing } from './advice-for-missing.ts'

it.each([
  [
    'in a checkout, where npm start writes them',
    true,
    'hint: npm start writes .data/auth.env for development: pass it with -c .data/auth.env, or copy .env.example to .env',
  ],
  ['in an image, where neither exists', false, 'hint: set them in the environment, or in a file that you pass with -c'],
])('says where required settings come from: %s', (_place, hasStart, advice) => {
  expect(adviceForMissing('auth', { hasStart })).toBe(advice)
})
