import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { portFrom } from './ports.ts'

describe('portFrom', () => {
  it.each([
    [{ AUTH_API_PORT: '1' }, 1],
    [{ AUTH_API_PORT: '65535' }, 65_535],
    [{ AUTH_API_PORT: '' }, 8081],
    [{}, 8081],
    [{ AUTH_PORT: '9000' }, 9000],
    [{ AUTH_API_PORT: '9001', AUTH_PORT: 'nine' }, 9001],
    [{ TRESTLE_PORT_BASE: '' }, 8081],
    [{ TRESTLE_PORT_BASE: '20000' }, 20_001],
    [{ TRESTLE_PORT_BASE: '65526' }, 65_527],
    [{ TRESTLE_PORT_BASE: '20000', AUTH_API_PORT: '9000' }, 9000],
    [{ TRESTLE_PORT_BASE: '20000', AUTH_PORT: '9000' }, 9000],
  ])('reads %j as %d', (env, port) => {
    expect(portFrom(env, 'AUTH_API_PORT', 'AUTH_PORT')).toBe(port)
  })

  it.each(['0', '65536', 'x', '80.5', '-1', '0x50'])('refuses %j', (text) => {
    expect(() => portFrom({ AUTH_API_PORT: text }, 'AUTH_API_PORT')).toThrow(
      new StackFailure([`config: AUTH_API_PORT must be a port from 1 to 65535 (got "${text}")`]),
    )
  })

  it('refuses a base beyond which not all ports exist', () => {
    expect(() => portFrom({ TRESTLE_PORT_BASE: '65527' }, 'AUTH_API_PORT')).toThrow(
      new StackFailure(['config: TRESTLE_PORT_BASE must be a port from 1 to 65526 (got "65527")']),
    )
  })
})
