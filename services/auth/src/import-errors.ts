// The part of the catalogue in errors.ts about lines of `users import`: why a line is refused. A refused line is no answer of HTTP.
// No text quotes the line.

export const IMPORT_TEXTS = {
  /** The parser's text names the request body, but an import reads lines. */
  unreadable: ({ problem }: { readonly problem: string }) => problem.replace('request body', 'the line'),
  memberInvalid: ({ field, problem }: { readonly field: string; readonly problem: string }) => `${field} ${problem}`,
  emailInvalid: ({ problem }: { readonly problem: string }) => `email: ${problem}`,
  phoneInvalid: ({ problem }: { readonly problem: string }) => `phone: ${problem}`,
  lineTooLong: 'is longer than a mebibyte',
  nobody: 'needs an id, an email or a phone',
  identityTwice: 'identities: one of them is there twice',
  identityWithoutId: ({ provider }: { readonly provider: string }) =>
    `identities: ${provider} needs the id of the account there`,
  emailTaken: 'the email belongs to another user',
  emailOfUnconfirmed: 'the email belongs to another user, who has not confirmed it: delete that user first',
  phoneOfUnconfirmed: 'the phone belongs to another user, who has not confirmed it: delete that user first',
  emailOfVerified: 'the email is not verified, and another user of the export has verified it',
  phoneOfVerified: 'the phone is not verified, and another user of the export has verified it',
  phoneTaken: 'the phone belongs to another user',
  accountTaken: ({ provider }: { readonly provider: string }) => `the identity of ${provider} belongs to another user`,
  hashTooLong: ({ max }: { readonly max: number }) => `password_hash is longer than ${max} characters`,
  hashUnknown: 'password_hash is of an unknown form, damaged, or costs too much to compare',
  firebaseForm: 'password_hash is no hash of Firebase',
  firebaseParametersMissing: 'password_hash needs the parameters of its Firebase project',
  firebaseKeyForeign: 'password_hash does not fit the signer key',
  firebaseParametersForeign: 'password_hash has parameters that are not those of Firebase',
} as const
