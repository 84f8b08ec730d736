const std = @import("std");

const env = struct {
    extern "extism:host/env" fn input_length() u64;
    extern "extism:host/env" fn input_load_u8(offset: u64) u8;
    extern "extism:host/env" fn alloc(length: u64) u64;
    extern "extism:host/env" fn store_u8(offset: u64, byte: u8) void;
    extern "extism:host/env" fn output_set(offset: u64, length: u64) void;
    extern "extism:host/env" fn error_set(offset: u64) void;
};
const allocator = std.heap.wasm_allocator;

/// Reads the input; the caller owns the memory.
fn input() ![]u8 {
    const bytes = try allocator.alloc(u8, @intCast(env.input_length()));
    for (bytes, 0..) |*byte, at| byte.* = env.input_load_u8(at);
    return bytes;
}

/// A block of the host's memory with this text.
fn blockOf(text: []const u8) u64 {
    const block = env.alloc(text.len);
    for (text, 0..) |byte, at| env.store_u8(block + at, byte);
    return block;
}

/// Hands the text to the host and returns the export's return code.
fn output(text: []const u8) i32 {
    env.output_set(blockOf(text), text.len);
    return 0;
}

export fn list_tools() i32 {
    return output(
        \\{"tools": [{
        \\  "name": "my_servlet_greet",
        \\  "description": "Greets a person by name.",
        \\  "inputSchema": {
        \\    "type": "object",
        \\    "properties": {"name": {"type": "string", "description": "Whom to greet."}},
        \\    "required": ["name"]
        \\  }
        \\}]}
    );
}

const Call = struct { request: struct { name: []const u8, arguments: std.json.Value } };
const Greet = struct { name: []const u8 };
const Content = struct { type: []const u8, text: []const u8 };

/// The arguments fit the tool's schema: the host has checked them.
export fn call_tool() i32 {
    return callTool() catch |failure| {
        env.error_set(blockOf(@errorName(failure)));
        return 1;
    };
}

fn callTool() !i32 {
    const options: std.json.ParseOptions = .{ .ignore_unknown_fields = true };
    const call = try std.json.parseFromSliceLeaky(Call, allocator, try input(), options);
    if (!std.mem.eql(u8, call.request.name, "my_servlet_greet")) return error.NoSuchTool;
    const greet = try std.json.parseFromValueLeaky(Greet, allocator, call.request.arguments, options);
    const text = try std.fmt.allocPrint(allocator, "Hello, {s}!", .{greet.name});
    const content = [_]Content{.{ .type = "text", .text = text }};
    return output(try std.json.Stringify.valueAlloc(allocator, .{ .content = content }, .{}));
}
