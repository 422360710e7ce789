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
    title: 'TokenForm',
    description: 'Client credentials',
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
    title: 'Token',
    description: 'An access token',
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
  { title: 'OAuthError', description: 'An error of the token endpoint (RFC 6749, section 5.2)' },
)

/** The error responses of the token endpoint, by status. */
export function oauthErrors(...errors: [status: number, code: string, description: string][]) {
  return Object.fromEntries(
    errors.map(([status, error, error_description]) => [
      status,
      { ...OAuthErrorView, 'x-response-description': error_description, examples: [{ error, error_description }] },
    ]),
  )
}

export const JwksView = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) },
  {
    title: 'Jwks',
    description: 'A JSON Web Key Set (RFC 7517)',
    examples: [
      {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
            y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
            kid: 'k1',
            alg: 'ES256',
            use: 'sig',
          },
        ],
      },
    ],
  },
)

/** RFC 8414. */
export const MetadataView = Type.Object(
  {
    issuer: Type.String({ format: 'uri', description: '`iss` of the access tokens' }),
    token_endpoint: Type.String({ format: 'uri' }),
    jwks_uri: Type.String({ format: 'uri', description: 'The keys that access tokens are signed with' }),
    scopes_supported: Type.Array(Type.String()),
    response_types_supported: Type.Array(Type.String(), { description: 'None: no person signs in here' }),
    grant_types_supported: Type.Array(Type.String()),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    service_documentation: Type.String({ format: 'uri' }),
  },
  {
    title: 'AuthorizationServer',
    description: 'Metadata of the authorization server (RFC 8414)',
    examples: [
      {
        issuer: 'https://pix.example.com',
        token_endpoint: 'https://pix.example.com/auth/token',
        jwks_uri: 'https://pix.example.com/.well-known/jwks.json',
        scopes_supported: ['transaction.read', 'transaction.write'],
        response_types_supported: [],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
        service_documentation: 'https://pix.example.com/guide/api.html',
      },
    ],
  },
)
