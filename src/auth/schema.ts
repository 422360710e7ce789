import { Type } from 'typebox'

export const TokenForm = Type.Object(
  {
    client_id: Type.String({ description: 'Client identifier' }),
    client_secret: Type.String({ description: 'Secret' }),
    grant_type: Type.Optional(Type.String({ description: 'client_credentials, which is also the default' })),
    scope: Type.Optional(
      Type.String({ description: 'A subset of the scopes that the client has, separated by spaces or commas' }),
    ),
  },
  {
    examples: [
      {
        client_id: 'gc_5f0c4ed1a8b94b1f9c1d7a20',
        client_secret: 'xS8V…43 characters…',
        grant_type: 'client_credentials',
      },
    ],
  },
)

export const TokenView = Type.Object(
  {
    access_token: Type.String({ description: 'JWT; send it as `Authorization: Bearer …`' }),
    expires_in: Type.Integer({ description: 'Unix time of expiry, in seconds' }),
    refresh_expires_in: Type.Integer({ description: 'Expiry of the refresh token: 0, there is none' }),
    token_type: Type.Literal('Bearer'),
    'not-before-policy': Type.Integer({
      description: 'Unix time before which tokens of this client are refused; 0 when none was revoked',
    }),
    scope: Type.String({ description: 'Granted scopes, separated by commas' }),
    expires_in_sec: Type.Integer({ description: 'Lifetime in seconds' }),
  },
  {
    examples: [
      {
        access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2ln',
        expires_in: 1790000900,
        refresh_expires_in: 0,
        token_type: 'Bearer',
        'not-before-policy': 0,
        scope: 'transaction.read,transaction.write',
        expires_in_sec: 900,
      },
    ],
  },
)

export const OAuthErrorView = Type.Object(
  {
    error: Type.String({
      description: 'RFC 6749 §5.2: invalid_request, invalid_client, unsupported_grant_type, invalid_scope, …',
    }),
    error_description: Type.String(),
  },
  { examples: [{ error: 'invalid_client', error_description: 'The client id or its secret is wrong.' }] },
)

export const JwksView = Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })
