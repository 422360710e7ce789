import fastify from 'fastify'

// The least that a Fastify server can do: an address that says hello, and one that gives back the JSON it was sent.
const app = fastify()
app.get('/hello', async () => ({ hello: 'world' }))
app.post('/echo', async (request) => request.body)
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
