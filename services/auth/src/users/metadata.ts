import { validationFailed } from '../errors.ts'

const BYTES_MAX = 65_536

/** Metadata enters the access token, so its size is bounded. @throws validationFailed above 64 KiB of JSON */
export function requireMetadata(
  data: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  if (data === undefined) return {}
  if (Buffer.byteLength(JSON.stringify(data)) > BYTES_MAX) {
    throw validationFailed({ message: `User metadata may not be larger than ${BYTES_MAX} bytes` })
  }
  return data
}
