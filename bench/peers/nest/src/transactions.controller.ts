import { Body, Controller, Get, Param, ParseUUIDPipe, Post, Req, UseGuards } from '@nestjs/common'
import { type AuthenticatedRequest, AuthGuard } from './auth.guard'
import { CreateTransactionDto } from './create-transaction.dto'
import { TransactionsService } from './transactions.service'

@Controller('transaction')
@UseGuards(AuthGuard)
export class TransactionsController {
  constructor(private readonly transactions: TransactionsService) {}

  @Post()
  async create(@Req() request: AuthenticatedRequest, @Body() body: CreateTransactionDto) {
    return await this.transactions.create(request.merchantId, body)
  }

  @Get(':id')
  async find(@Req() request: AuthenticatedRequest, @Param('id', ParseUUIDPipe) id: string) {
    return await this.transactions.find(request.merchantId, id)
  }
}
